"""Whether a directory is in safe hands: needed where others might put something in its place, as in /tmp."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def check_ownership(path: Path) -> None:
    """PermissionError if somebody other than root and this process' user can put another directory in this one's place.

    `path` is absolute and without links.
    """
    for directory in (path, *path.parents):
        status = directory.stat()
        is_open = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not status.st_mode & stat.S_ISVTX
        if status.st_uid not in (0, os.geteuid()) or is_open:
            raise PermissionError(f"{directory} belongs to somebody else, or everybody can write there")
