"""The cgroups of containers, below one root in each tree.

    <tree>/<root>/<container>                        version 1: processes are in it
    <tree>/<root>/<container>/leaf                   version 2: processes are here, limits and rules one above
    <tree>/<root>/<container>/mesos/<nested>[/leaf]  a container in a container, to any depth

This is Mesos' layout (Mesos 1.11: src/slave/containerizer/mesos/linux_launcher.cpp; HEAD for version 2), so that an
agent finds what another one left.
"""

import contextlib
import os
from collections.abc import Collection, Iterator

from tfmesos.cgroups import _files
from tfmesos.cgroups.cgroup import LEAF, NESTED, Cgroup, Part
from tfmesos.cgroups.errors import CgroupError
from tfmesos.cgroups.hierarchies import WITHOUT_CONTROLLER, Hierarchies, Hierarchy

Lineage = tuple[str, ...]
"""Ids of a container and of those that it is nested in, the outermost first."""


class Cgroups:
    """All cgroups below one root."""

    def __init__(self, root: str, trees: dict[str, Hierarchy], made: Collection[str]) -> None:
        self._root = root
        self._trees = trees
        self._made = tuple(made)

    @classmethod
    def open(cls, hierarchies: Hierarchies, root: str = "mesos", controllers: Collection[str] = ()) -> "Cgroups":
        """Make `root` in the tree of each controller; CgroupError with what is missing and the remedy."""
        _check_root(root)
        trees: dict[str, Hierarchy] = {}
        for controller in controllers:
            tree = hierarchies.tree_of(controller)
            fault = hierarchies.faults(controller)
            if tree is None or fault is not None:
                raise CgroupError(f"The cgroup controller '{controller}' cannot be used: {fault}")
            trees[controller] = tree
        made: list[str] = []
        for path, tree in {tree.path: tree for tree in trees.values()}.items():
            wanted = _to_enable(trees, tree)
            made += _make_root(path, root, wanted)
        return cls(root, trees, made)

    def create(self, lineage: Lineage) -> Cgroup:
        """A new cgroup in each tree, without processes and limits; CgroupError, and then nothing is left of it."""
        cgroup = self._cgroup(lineage)
        for part in cgroup.parts:
            if os.path.isdir(part.path):
                raise CgroupError(f"The cgroup {part.path} exists already")
        try:
            for part in cgroup.parts:
                part.create()
        except CgroupError:
            cgroup.remove_empty()
            raise
        return cgroup

    def find(self, lineage: Lineage) -> Cgroup | None:
        """What exists of it in any tree, also by an agent before."""
        cgroup = self._cgroup(lineage)
        return cgroup if any(os.path.isdir(part.path) for part in cgroup.parts) else None

    def lineages(self) -> list[Lineage]:
        """Of all cgroups that exist in any tree, also by an agent before; parents before what is nested in them."""
        found: set[Lineage] = set()
        for path in {tree.path for tree in self._trees.values()}:
            found.update(_walk(os.path.join(path, self._root), ()))
        return sorted(found)

    def close(self) -> None:
        """Remove the roots that `open` made, where nothing is left in them."""
        for path in reversed(self._made):
            with contextlib.suppress(OSError):
                os.rmdir(path)

    def _cgroup(self, lineage: Lineage) -> Cgroup:
        _check_lineage(lineage)
        below = os.path.join(self._root, f"/{NESTED}/".join(lineage))
        trees = {tree.path: tree for tree in self._trees.values()}
        parts = {
            path: Part(
                path=os.path.join(path, below),
                version=tree.version,
                controllers=frozenset(name for name, its in self._trees.items() if its.path == path),
                to_enable=_to_enable(self._trees, tree),
            )
            for path, tree in trees.items()
        }
        return Cgroup(lineage, tuple(parts.values()))


def _to_enable(trees: dict[str, Hierarchy], tree: Hierarchy) -> frozenset[str]:
    if tree.version == 1:
        return frozenset()
    return frozenset(name for name, its in trees.items() if its.path == tree.path) - WITHOUT_CONTROLLER


def _make_root(path: str, root: str, wanted: frozenset[str]) -> list[str]:
    """Which directories were made; each passes the controllers on, from the top."""
    made = []
    _files.enable(path, wanted)
    for name in root.split("/"):
        path = os.path.join(path, name)
        if _files.make_directory(path):
            made.append(path)
        _files.enable(path, wanted)
    return made


def _walk(path: str, above: Lineage) -> Iterator[Lineage]:
    for name in _files.directories(path):
        if above or name != LEAF:
            yield (*above, name)
            yield from _walk(os.path.join(path, name, NESTED), (*above, name))


def _check_root(root: str) -> None:
    if not root or any(part in ("", ".", "..") for part in root.split("/")):
        raise CgroupError(f"The root of the cgroups is a relative path as 'mesos', not {root!r}")


def _check_lineage(lineage: Lineage) -> None:
    for name in lineage or ("",):
        if name in ("", ".", "..") or "/" in name or "\0" in name:
            raise CgroupError(f"A container's id names its cgroup and cannot be {name!r}")
