"""What is mounted, and what of it can be reached: mounts may lie on top of others. Pure.

kernel: Documentation/filesystems/proc.rst, /proc/<pid>/mountinfo
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One line of mountinfo; `options` are those of the mount and of its file system together."""

    id: int
    parent: int
    point: str
    kind: str
    options: frozenset[str]

    @property
    def is_read_only(self) -> bool:
        """Nothing can be written through it."""
        return "ro" in self.options


def parse_mounts(text: str) -> list[Mount]:
    """All mounts of a mountinfo, in its order."""
    return [_parse_line(line) for line in text.splitlines() if " - " in line]


def reachable(mounts: Iterable[Mount]) -> list[Mount]:
    """Those that a path leads to: no other mount lies on them or on the way to them."""
    everything = list(mounts)
    by_id = {mount.id: mount for mount in everything}
    return [mount for mount in everything if not _is_covered(mount, everything, by_id)]


def _is_covered(mount: Mount, everything: list[Mount], by_id: dict[int, Mount]) -> bool:
    if any(other.parent == mount.id and other.point == mount.point for other in everything if other is not mount):
        return True
    step: Mount | None = mount
    while step is not None:
        if any(other.parent == step.parent and other is not step and _leads(other, step) for other in everything):
            return True
        step = by_id.get(step.parent) if step.parent != step.id else None
    return False


def _leads(upper: Mount, lower: Mount) -> bool:
    """The way to `lower` passes the mount point of `upper`, which lies on the same mount."""
    return lower.point == upper.point or lower.point.startswith(upper.point.rstrip("/") + "/")


def _parse_line(line: str) -> Mount:
    before, after = line.split(" - ", 1)
    number, parent, _device, _root, point, options = before.split(" ")[:6]
    kind, _source, *own = after.split(" ")
    together = frozenset(f"{options},{own[0] if own else ''}".split(","))
    return Mount(id=int(number), parent=int(parent), point=_unescape(point), kind=kind, options=together)


def _unescape(text: str) -> str:
    """Blanks, tabs, line ends and backslashes are written as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
