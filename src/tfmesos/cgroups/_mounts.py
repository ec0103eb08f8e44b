"""What is mounted, and what of it can be reached: mounts may lie on top of others.

kernel: Documentation/filesystems/proc.rst, /proc/<pid>/mountinfo
"""

import os
import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One line of mountinfo; `options` are those of the mount and of its file system together."""

    device: int
    point: str
    kind: str
    options: frozenset[str]

    @property
    def is_read_only(self) -> bool:
        """Nothing can be written through it."""
        return "ro" in self.options

    def is_reachable(self) -> bool:
        """Its path leads to it, and not to what was mounted over it or on the way to it."""
        try:
            return os.stat(self.point).st_dev == self.device
        except OSError:
            return False


def parse_mounts(text: str) -> list[Mount]:
    """All mounts of a mountinfo, in its order."""
    return [_parse_line(line) for line in text.splitlines() if " - " in line]


def _parse_line(line: str) -> Mount:
    before, after = line.split(" - ", 1)
    _id, _parent, numbers, _root, point, options = before.split(" ")[:6]
    kind, _source, *own = after.split(" ")
    together = frozenset(f"{options},{own[0] if own else ''}".split(","))
    device = os.makedev(*map(int, numbers.split(":")))
    return Mount(device=device, point=_unescape(point), kind=kind, options=together)


def _unescape(text: str) -> str:
    """Blanks, tabs, line ends and backslashes are written as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
