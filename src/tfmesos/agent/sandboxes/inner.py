"""Directories and files deep in a sandbox, made for its container by the agent.

A sandbox belongs to a user, who may have put links in it: none is followed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator

from tfmesos.agent.sandboxes.work_dir import Owner

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def owner_of(path: str) -> Owner:
    """Whom a directory belongs to."""
    status = os.lstat(path)
    return Owner(uid=status.st_uid, gid=status.st_gid)


def make_inner_directory(base: str, path: str, owner: Owner | None = None) -> None:
    """Make a directory below `base`, with those above it; what is there stays. What is new is the owner's.

    Raises OSError: for a path that leaves `base`, and for what is a link or no directory.
    """
    with _entered(base, _parts(path), owner):
        pass


def make_inner_file(base: str, path: str, owner: Owner | None = None) -> None:
    """The same for an empty file; one that is there stays as it is."""
    *above, name = _parts(path)
    with _entered(base, above, owner) as directory:
        try:
            file = os.open(name, _NEW_FILE, 0o644, dir_fd=directory)
        except FileExistsError:
            if not stat.S_ISREG(os.lstat(name, dir_fd=directory).st_mode):
                raise
            return
        if owner is not None:
            os.fchown(file, owner.uid, owner.gid)
        os.close(file)


def make_inner_link(base: str, path: str, target: str, owner: Owner | None = None) -> None:
    """The same for a symbolic link, which replaces one that is there."""
    *above, name = _parts(path)
    with _entered(base, above, owner) as directory:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=directory)
        os.symlink(target, name, dir_fd=directory)


def _parts(path: str) -> list[str]:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts or not parts:
        raise OSError(errno.EINVAL, "the path leads out of the sandbox", path)
    return parts


@contextlib.contextmanager
def _entered(base: str, parts: list[str], owner: Owner | None) -> Iterator[int]:
    directory = os.open(base, _DIRECTORY)
    try:
        for part in parts:
            is_new = _make(part, directory)
            inner = os.open(part, _DIRECTORY, dir_fd=directory)
            os.close(directory)
            directory = inner
            if is_new and owner is not None:
                os.fchown(directory, owner.uid, owner.gid)
        yield directory
    finally:
        os.close(directory)


def _make(name: str, directory: int) -> bool:
    try:
        os.mkdir(name, 0o755, dir_fd=directory)
    except FileExistsError:
        return False
    return True
