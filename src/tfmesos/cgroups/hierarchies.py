"""Which trees of cgroups this machine has, and what a missing one lacks.

version 1     one tree for each controller, or for a few together: /sys/fs/cgroup/devices, /sys/fs/cgroup/cpu,cpuacct
version 2     one tree for all: /sys/fs/cgroup
hybrid        both; a controller belongs to one of them, and the tree of version 2 may have none
"""

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from tfmesos.cgroups import _bpf
from tfmesos.cgroups._mounts import Mount, parse_mounts

OPTIONS = {
    "cpu": "CONFIG_CGROUP_SCHED",
    "cpuacct": "CONFIG_CGROUP_CPUACCT",
    "devices": "CONFIG_CGROUP_DEVICE",
    "freezer": "CONFIG_CGROUP_FREEZER",
    "memory": "CONFIG_MEMCG",
    "pids": "CONFIG_CGROUP_PIDS",
}
"""Controllers that this room knows, with what the kernel is built with to have them."""

WITHOUT_CONTROLLER = frozenset({"cpuacct", "devices", "freezer"})
"""What every cgroup of version 2 does, with no controller enabled: devices by a program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hierarchy:
    """One mounted tree; `controllers` are those that can be used in it, or `name=…` where it has a name instead."""

    path: str
    version: int
    controllers: frozenset[str]
    is_read_only: bool = False


class Hierarchies:
    """The trees that can be reached from here."""

    def __init__(self, trees: Iterable[Hierarchy], known: Iterable[tuple[str, bool]] = ()) -> None:
        """`known` are the controllers that the kernel lists for version 1, with whether they are enabled."""
        self._trees = tuple(trees)
        self._known = dict(known)

    @classmethod
    def detect(cls, proc: str = "/proc", base: str = "/sys/fs/cgroup") -> "Hierarchies":
        """What this process sees; of a tree that is mounted twice, the mount below `base`."""
        mounts = parse_mounts(_read(f"{proc}/self/mountinfo"))
        mounts.reverse()  # of those on top of each other, the last one is seen
        mounts.sort(key=lambda mount: not Path(mount.point).is_relative_to(base))
        known = _parse_known(_read(f"{proc}/cgroups"))
        trees = [tree for mount in mounts if (tree := _tree_of(mount, dict(known).keys())) is not None]
        return cls(trees, known)

    @property
    def version(self) -> int | None:
        """1 or 2, by how devices are controlled here: on a hybrid machine 1. None if nothing is mounted."""
        tree = self.tree_of("devices")
        return None if tree is None else tree.version

    @property
    def trees(self) -> tuple[Hierarchy, ...]:
        """All that can be written, each once."""
        found = {tree.controllers if tree.version == 1 else None: tree for tree in reversed(self._trees)}
        return tuple(tree for tree in found.values() if not tree.is_read_only)

    def tree_of(self, controller: str) -> Hierarchy | None:
        """The tree in which `controller` is used."""
        for version in (1, 2):
            for tree in self._trees:
                if tree.version == version and controller in tree.controllers:
                    return tree
        return None

    def path_of(self, controller: str) -> str | None:
        """Where the tree is mounted in which `controller` is used."""
        tree = self.tree_of(controller)
        return None if tree is None else tree.path

    def faults(self, controller: str) -> str | None:
        """Why `controller` cannot be used by this process, and the remedy; None if it can."""
        tree = self.tree_of(controller)
        if tree is None:
            return self._fault_of_missing(controller)
        if tree.is_read_only:
            return (
                f"{tree.path} is mounted read-only: `mount -o remount,rw {tree.path}`; in a container this takes one "
                "that was started with all privileges (docker: `--privileged`)"
            )
        if not os.access(tree.path, os.W_OK):
            return f"{tree.path} cannot be written by user {os.geteuid()}: run as root"
        if tree.version == 2 and controller == "devices":
            return _bpf.fault(tree.path)
        return None

    def _fault_of_missing(self, controller: str) -> str:
        option = f" built with {OPTIONS[controller]}" if controller in OPTIONS else ""
        unified = next((tree for tree in self._trees if tree.version == 2), None)
        if not self._known.get(controller, True):
            boot = _boot_options(controller)
            return f"the kernel's cgroup controller '{controller}' is switched off: boot without {boot}"
        if unified is not None:
            return (
                f"{unified.path}/cgroup.controllers lacks '{controller}': it needs a kernel{option}, booted without "
                f"{_boot_options(controller)}, and whoever manages this part of the tree must pass the controller on "
                "(systemd: `Delegate=yes`)"
            )
        if self._known and controller not in self._known:
            return f"the kernel has no cgroup controller '{controller}': it needs one{option}"
        place = f"/sys/fs/cgroup/{controller}"
        return (
            f"no hierarchy with the cgroup controller '{controller}' is mounted: "
            f"`mkdir -p {place} && mount -t cgroup -o {controller} cgroup {place}`"
        )


def _boot_options(controller: str) -> str:
    return f"`cgroup_disable={controller}`{' and with `cgroup_enable=memory`' if controller == 'memory' else ''}"


def _tree_of(mount: Mount, known: Collection[str]) -> Hierarchy | None:
    """None if the mount is no tree of cgroups that can be reached."""
    if mount.kind not in ("cgroup", "cgroup2") or not mount.is_reachable():
        return None
    if mount.kind == "cgroup2":
        enabled = frozenset(_read(f"{mount.point}/cgroup.controllers").split())
        return Hierarchy(
            path=mount.point, version=2, controllers=enabled | WITHOUT_CONTROLLER, is_read_only=mount.is_read_only
        )
    named = {option for option in mount.options if option.startswith("name=")}
    controllers = mount.options & (OPTIONS.keys() | set(known)) or frozenset(named)
    if not controllers:
        return None
    return Hierarchy(path=mount.point, version=1, controllers=controllers, is_read_only=mount.is_read_only)


def _parse_known(text: str) -> list[tuple[str, bool]]:
    """Name, hierarchy, number of cgroups and "enabled" of each controller (kernel: /proc/cgroups)."""
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return [(row[0], row[3] == "1") for row in rows if len(row) == 4]


def _read(path: str) -> str:
    """A file of the kernel's; nothing where there is none."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
