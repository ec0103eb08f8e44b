"""The cgroups of containers, below one root in each tree.

    <tree>/<root>/<container>                        version 1: processes are in it
    <tree>/<root>/<container>/leaf                   version 2: processes are here, limits and rules one above
    <tree>/<root>/<container>/mesos/<nested>[/leaf]  a container in a container, to any depth
    <tree>/<root>/<container>/oci                    made by a container runtime, which wants one in every tree

But for the last, this is Mesos' layout (Mesos 1.11: src/slave/containerizer/mesos/linux_launcher.cpp; HEAD for version
2), so that an agent finds what another one left. Several agents may have the same root: each outermost cgroup bears its
owner's name.
"""

import contextlib
import os
import time
from collections.abc import Collection, Iterator

from tfmesos.cgroups import _files, _ownership
from tfmesos.cgroups._part import GUEST, LEAF, NESTED, Part
from tfmesos.cgroups.cgroup import Cgroup
from tfmesos.cgroups.errors import CgroupError
from tfmesos.cgroups.hierarchies import OPTIONS, WITHOUT_CONTROLLER, Hierarchies, Hierarchy

_MADE_HERE = "tfmesos"
"""Whose the roots are."""
_FORSAKEN_S = 10.0
"""Between a directory and the name on it lie microseconds."""
Lineage = tuple[str, ...]
"""Ids of a container and of those that it is nested in, the outermost first."""


class Cgroups:
    """All cgroups below one root."""

    def __init__(self, root: str, trees: dict[str, Hierarchy], owner: str, others: Collection[Hierarchy] = ()) -> None:
        """`trees` by what is controlled in them; in `others` there is nothing but processes."""
        self._root = root
        self._trees = trees
        self._owner = owner
        self._distinct_trees = tuple({tree.path: tree for tree in (*trees.values(), *others)}.values())
        self._controllers = {
            tree.path: frozenset(name for name, its in trees.items() if its.path == tree.path)
            for tree in self._distinct_trees
        }

    @classmethod
    def open(
        cls, hierarchies: Hierarchies, root: str = "mesos", controllers: Collection[str] = (), owner: str = ""
    ) -> "Cgroups":
        """Make `root` in the tree of each controller; CgroupError with what is missing and the remedy.

        `owner`: a name that no other user of this root has, and that is the same after a restart; whoever has none
        takes all for its own.
        """
        _check_root(root)
        trees: dict[str, Hierarchy] = {}
        for controller in controllers:
            tree = hierarchies.tree_of(controller)
            fault = hierarchies.faults(controller)
            if tree is None or fault is not None:
                raise CgroupError(f"The cgroup controller '{controller}' cannot be used: {fault}")
            trees[controller] = tree
        self = cls(root, trees, owner)
        for tree in self._distinct_trees:
            self._make_root(tree)
            self._remove_forsaken(os.path.join(tree.path, root))
        return self

    def widened(self, hierarchies: Hierarchies) -> "Cgroups":
        """The same and what is below this root in other trees: to find and remove what a process before has made."""
        others = {name: tree for name in OPTIONS if (tree := hierarchies.tree_of(name)) is not None}
        return Cgroups(self._root, others | self._trees, self._owner, hierarchies.trees)

    def elsewhere(self, hierarchies: Hierarchies) -> "Cgroups":
        """Those in all trees but its own, where they are made with the first that is completed."""
        own = {tree.path for tree in self._distinct_trees}
        others = [tree for tree in hierarchies.trees if tree.path not in own]
        for tree in others:
            self._remove_forsaken(os.path.join(tree.path, self._root))
        return Cgroups(self._root, {}, self._owner, others)

    def create(self, lineage: Lineage) -> Cgroup:
        """A new cgroup in each tree, without processes and limits; CgroupError, and then nothing is left of it."""
        cgroup = self._cgroup(lineage)
        for part in cgroup.parts:
            if os.path.isdir(part.path):
                raise CgroupError(f"The cgroup {part.path} exists already")
        try:
            self._make(cgroup)
        except CgroupError:
            if not self._make_missing_roots():  # another one who has the same root has removed it as empty
                raise
            self._make(cgroup)
        return cgroup

    def complete(self, lineage: Lineage) -> None:
        """Make what there is not of a cgroup, without processes: something nested in it is to be made. CgroupError."""
        missing = [part for part in self._cgroup(lineage).parts if not os.path.isdir(part.path)]
        if missing:
            self._make_missing_roots()
        for part in missing:
            self._make_part(part, lineage)

    def find(self, lineage: Lineage) -> Cgroup | None:
        """What exists of it in any tree, also by an agent before."""
        below = _path_of(self._root, lineage)
        there = [tree for tree in self._distinct_trees if os.path.isdir(f"{tree.path}/{below}")]
        return Cgroup(lineage, tuple(self._part(tree, below, lineage) for tree in there)) if there else None

    def lineages(self) -> list[Lineage]:
        """Of all cgroups of this owner in any tree, also by an agent before; parents before what is nested in them."""
        found: set[Lineage] = set()
        for tree in self._distinct_trees:
            path = os.path.join(tree.path, self._root)
            found.update(lineage for lineage in _walk(path, ()) if self._is_own(os.path.join(path, lineage[0])))
        return sorted(found)

    def close(self) -> None:
        """Remove the root, where nothing is left in it, unless it was there before any of its users."""
        for tree in self._distinct_trees:
            for path in reversed(self._way_to_root(tree)):
                if _ownership.owner_of(path) == _MADE_HERE:
                    with contextlib.suppress(OSError):
                        os.rmdir(path)

    def _make(self, cgroup: Cgroup) -> None:
        try:
            for part in cgroup.parts:
                self._make_part(part, cgroup.lineage)
        except CgroupError:
            cgroup.remove_empty()
            raise

    def _make_part(self, part: Part, lineage: Lineage) -> None:
        part.create()
        if self._owner and len(lineage) == 1:
            _ownership.mark(part.path, self._owner)

    def _make_missing_roots(self) -> bool:
        """Whether any was missing."""
        missing = [tree for tree in self._distinct_trees if not os.path.isdir(os.path.join(tree.path, self._root))]
        for tree in missing:
            self._make_root(tree)
        return bool(missing)

    def _make_root(self, tree: Hierarchy) -> None:
        """Each directory on the way passes the controllers on, from the top."""
        wanted = self._to_enable(tree)
        _files.enable(tree.path, wanted)
        for path in self._way_to_root(tree):
            if _files.make_directory(path):
                _ownership.mark(path, _MADE_HERE)
            _files.enable(path, wanted)

    def _remove_forsaken(self, root: str) -> None:
        """What was made by one that was killed before it put its name on it; there is no process in it.

        Only where names hold and no others than users of this class make anything: in a root with its own name.
        """
        if _ownership.owner_of(root) != _MADE_HERE:
            return
        for path in (os.path.join(root, name) for name in _files.directories(root)):
            with contextlib.suppress(OSError):
                if _ownership.owner_of(path) is None and os.stat(path).st_mtime < time.time() - _FORSAKEN_S:
                    with contextlib.suppress(FileNotFoundError):
                        os.rmdir(os.path.join(path, LEAF))
                    os.rmdir(path)

    def _way_to_root(self, tree: Hierarchy) -> list[str]:
        """All directories below the tree's own, the topmost first."""
        names = self._root.split("/")
        return [os.path.join(tree.path, *names[: depth + 1]) for depth in range(len(names))]

    def _is_own(self, path: str) -> bool:
        return not self._owner or _ownership.owner_of(path) == self._owner

    def _cgroup(self, lineage: Lineage) -> Cgroup:
        below = _path_of(self._root, lineage)
        return Cgroup(lineage, tuple(self._part(tree, below, lineage) for tree in self._distinct_trees))

    def _part(self, tree: Hierarchy, below: str, lineage: Lineage) -> Part:
        return Part(
            path=f"{tree.path}/{below}",
            version=tree.version,
            controllers=self._controllers[tree.path],
            to_enable=self._to_enable(tree),
            is_nested=len(lineage) > 1,
        )

    def _to_enable(self, tree: Hierarchy) -> frozenset[str]:
        return self._controllers[tree.path] - WITHOUT_CONTROLLER if tree.version == 2 else frozenset()


def guest_path(root: str, lineage: Lineage) -> str:
    """Where a container runtime is to put what it starts: the path of that cgroup in every tree, below its mount."""
    return f"/{_path_of(root, lineage)}/{GUEST}"


def _path_of(root: str, lineage: Lineage) -> str:
    """Raises CgroupError for what is no lineage."""
    _check_lineage(lineage)
    return f"{root}/{f'/{NESTED}/'.join(lineage)}"


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
