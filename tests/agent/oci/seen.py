"""What this machine tells of processes; reads that do not block."""

from __future__ import annotations

import os
from pathlib import Path


def mounts() -> str:
    """All that is mounted, as this process sees it."""
    return Path("/proc/self/mountinfo").read_text()


def cgroups_of(pid: int | None) -> set[str]:
    """The path in each tree that can be reached here."""
    has_version_1 = Path("/sys/fs/cgroup/devices").exists()
    lines = (line.split(":", 2) for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines())
    return {path for _, controllers, path in lines if has_version_1 or not controllers}


def namespace_of(pid: int | str | None, kind: str) -> str:
    return os.readlink(f"/proc/{pid}/ns/{kind}")


def text(*path: str) -> str:
    return Path(*path).read_text()
