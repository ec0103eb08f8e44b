"""What is there of a root of cgroups, in every tree; all of it may go at any moment, which is no error here."""

from __future__ import annotations

import glob
import os
from contextlib import suppress
from pathlib import Path

_MOUNTS = "/sys/fs/cgroup"


def cgroups_below(root: str) -> list[Path]:
    """The roots themselves and all below, the topmost first. (Path.glob fails where a directory goes meanwhile.)"""
    roots = [*glob.glob(f"{_MOUNTS}/{root}"), *glob.glob(f"{_MOUNTS}/*/{root}")]
    found = {Path(path) for top in roots for path, _, _ in os.walk(top)}
    return sorted(path for path in found if path.is_dir())


def containers_below(root: str) -> list[Path]:
    """The directories right below the roots."""
    return [path for path in cgroups_below(root) if path.parent.name == root]


def pids_below(root: str) -> list[int]:
    """Of all processes; one for each tree that it is in."""
    return [pid for path in cgroups_below(root) for pid in _pids(path)]


def _pids(path: Path) -> list[int]:
    with suppress(OSError):
        return [int(pid) for pid in (path / "cgroup.procs").read_text().split()]
    return []
