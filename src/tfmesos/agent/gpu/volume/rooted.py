"""Paths as a program would see them whose root directory is another one."""

from __future__ import annotations

import errno
import os
from pathlib import Path, PurePosixPath

_MAX_LINKS = 40  # kernel: path_resolution(7)


def resolve(root: Path, path: str) -> Path:
    """The file at the absolute `path` inside `root`, all links followed and none out of it. Raises OSError."""
    waiting = list(reversed(PurePosixPath(path).parts[1:]))
    found: list[str] = []
    links = 0
    while waiting:
        name = waiting.pop()
        if name == "..":
            found = found[:-1]
            continue
        here = root.joinpath(*found, name)
        if not here.is_symlink():
            found.append(name)
            continue
        links += 1
        if links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        target = PurePosixPath(os.readlink(here))
        if target.is_absolute():
            found = []
        waiting += reversed(target.parts[1:] if target.is_absolute() else target.parts)
    file = root.joinpath(*found)
    os.stat(file)
    return file
