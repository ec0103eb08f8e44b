"""What --isolation may name, in the order in which isolators work: the text, and what each name needs (pure).

Mesos 1.11: src/slave/containerizer/mesos/containerizer.cpp, gpu.md 4.1. The order in the flag means nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tfmesos.flags import FlagError

ALL_CGROUPS = "cgroups/all"
GPU_NVIDIA = "gpu/nvidia"
GPU_POSIX = "posix/gpus"
FILESYSTEM_POSIX = "filesystem/posix"
FILESYSTEM_LINUX = "filesystem/linux"
DOCKER_RUNTIME = "docker/runtime"
ENVIRONMENT_SECRET = "environment_secret"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What is known of a name.

    `controller`: of cgroups, that the isolator governs. `needs`: all of these beside it. `is_viewed`: it is the OCI
    runtime that carries out what it wants.
    """

    name: str
    controller: str | None = None
    needs_root: bool = False
    needs: tuple[str, ...] = ()
    is_viewed: bool = False


def _viewed(name: str, *needs: str) -> Entry:
    return Entry(name=name, needs_root=True, needs=needs, is_viewed=True)


TABLE = (
    Entry(name=FILESYSTEM_POSIX),
    _viewed(FILESYSTEM_LINUX),
    Entry(name="posix/cpu"),
    Entry(name="posix/mem"),
    _viewed("posix/rlimits"),
    Entry(name="cgroups/cpu", controller="cpu", needs_root=True),
    Entry(name="cgroups/mem", controller="memory", needs_root=True),
    Entry(name="cgroups/devices", controller="devices", needs_root=True),
    Entry(name="cgroups/pids", controller="pids", needs_root=True),
    Entry(name=DOCKER_RUNTIME),
    Entry(name="linux/devices", needs_root=True),
    _viewed("linux/capabilities"),
    _viewed("linux/nnp"),
    _viewed("namespaces/ipc"),
    _viewed("namespaces/pid"),
    Entry(name="volume/sandbox_path"),
    _viewed("volume/host_path", FILESYSTEM_LINUX),
    _viewed("volume/image", FILESYSTEM_LINUX),
    _viewed("volume/secret", FILESYSTEM_LINUX),
    Entry(name=GPU_POSIX),
    Entry(name=GPU_NVIDIA, needs_root=True, needs=("cgroups/devices",)),
    Entry(name=ENVIRONMENT_SECRET),
)
"""In the order in which they are prepared; cleaned up they are in reverse."""

_BY_NAME = {entry.name: entry for entry in TABLE}
_LEGACY = {"process": ("posix/cpu", "posix/mem"), "cgroups": ("cgroups/cpu", "cgroups/mem")}
_CONTRADICTIONS = (("posix/cpu", "cgroups/cpu"), ("posix/mem", "cgroups/mem"), (GPU_POSIX, GPU_NVIDIA))
_FILESYSTEMS = (FILESYSTEM_POSIX, FILESYSTEM_LINUX)
_OF_LINUX_FILESYSTEM = ("volume/image", "volume/host_path", "volume/sandbox_path")
_OF_MESOS = frozenset(
    (
        "appc/runtime",
        "cgroups/blkio",
        "cgroups/cpuset",
        "cgroups/hugetlb",
        "cgroups/net_cls",
        "cgroups/net_prio",
        "cgroups/perf_event",
        "disk/du",
        "disk/xfs",
        "docker/volume",
        "filesystem/shared",
        "linux/seccomp",
        "network/cni",
        "network/port_mapping",
        "network/ports",
        "posix/disk",
        "volume/csi",
    )
)


@dataclass(frozen=True, slots=True)
class IsolatorNames:
    """The isolators that are wanted, in the table's order; `has_all_cgroups`: of cgroups, whatever the machine has."""

    names: tuple[str, ...]
    has_all_cgroups: bool = False

    def __contains__(self, name: str) -> bool:
        return name in self.names or (self.has_all_cgroups and name.startswith("cgroups/") and name in _BY_NAME)

    @property
    def has_views(self) -> bool:
        """Whether an OCI runtime is needed to carry out what some of them want."""
        return any(entry.is_viewed for entry in self.entries())

    def entries(self) -> tuple[Entry, ...]:
        """What is known of each."""
        return tuple(entry for entry in TABLE if entry.name in self.names)

    def with_cgroups(self, controllers: Iterable[str]) -> IsolatorNames:
        """With cgroups/all spelled out: one isolator for each of these controllers that has one."""
        if not self.has_all_cgroups:
            return self
        present = set(controllers)
        named = (entry.name for entry in TABLE if entry.controller in present or entry.name in self.names)
        return IsolatorNames(tuple(named))


def parse_isolation(text: str) -> IsolatorNames:
    """The names in --isolation. Raises FlagError for what is unknown, doubled or contradicts another."""
    tokens = [token.strip() for token in text.split(",") if token.strip()]
    for token in tokens:
        _refuse_unknown(token)
    names = [name for token in tokens for name in _LEGACY.get(token, (token,))]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise FlagError(f"Duplicate entries found in --isolation flag: {', '.join(doubled)}")
    has_all = ALL_CGROUPS in names
    if has_all:  # Mesos 1.11: the others are subsumed
        names = [name for name in names if not name.startswith("cgroups/")]
    found = _in_order(names, has_all)
    _refuse_contradictions(found)
    return _in_order([*names, *_implied(found)], has_all)


def dependency_fault(found: IsolatorNames) -> str | None:
    """Which isolator lacks another that it needs, and how to get it; None if none does."""
    for entry in found.entries():
        for needed in entry.needs:
            if needed not in found:
                either = f"'{needed}' or '{ALL_CGROUPS}'" if needed.startswith("cgroups/") else f"'{needed}'"
                return (
                    f"Failed to create isolator '{entry.name}': The {either} isolator must be enabled in order to use "
                    f"the '{entry.name}' isolator: --isolation={needed},{entry.name}"
                )
    return None


def _in_order(names: Iterable[str], has_all_cgroups: bool) -> IsolatorNames:
    wanted = set(names)
    return IsolatorNames(tuple(entry.name for entry in TABLE if entry.name in wanted), has_all_cgroups)


def _implied(found: IsolatorNames) -> Iterator[str]:
    """What is there without being named (Mesos 1.11)."""
    yield ENVIRONMENT_SECRET
    if FILESYSTEM_LINUX in found:
        yield from _OF_LINUX_FILESYSTEM
    else:
        yield FILESYSTEM_POSIX


def _refuse_unknown(token: str) -> None:
    if token in _BY_NAME or token in _LEGACY or token == ALL_CGROUPS:
        return
    if token in _OF_MESOS:
        raise FlagError(f"isolator '{token}' is not supported by this agent yet; it knows {_known_names()}")
    raise FlagError(f"Unknown or unsupported isolator: {token}; this agent knows {_known_names()}")


def _known_names() -> str:
    return ", ".join([*_BY_NAME, ALL_CGROUPS])


def _refuse_contradictions(found: IsolatorNames) -> None:
    several = [name for name in _FILESYSTEMS if name in found]
    if len(several) > 1:  # filesystem/shared, Mesos' third, is not known here
        raise FlagError(f"Using multiple filesystem isolators is not supported: {', '.join(several)}")
    for one, other in _CONTRADICTIONS:
        if one in found and other in found:
            raise FlagError(f"'{one}' and '{other}' contradict each other: give one of them")
