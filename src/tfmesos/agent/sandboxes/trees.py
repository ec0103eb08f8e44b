"""Removes whole directories that belonged to somebody else: no link is followed, no mounted file system entered."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from dataclasses import dataclass, field

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class _Level:
    """A directory on the way down."""

    name: str
    identity: tuple[int, int]
    left: set[str] = field(default_factory=set)
    """What in it cannot be removed."""


def remove_tree(path: str) -> None:
    """Remove a directory with all in it. Raises OSError for the first that stays, when all else is gone.

    Whose name it has is trusted down to its parent. Nobody's depth of directories is too deep. Missing: nothing to do.
    """
    parent, _, name = path.rstrip("/").rpartition("/")
    with contextlib.suppress(FileNotFoundError):
        directory = os.open(parent or "/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            remove_tree_at(directory, name)
        finally:
            os.close(directory)


def remove_tree_at(parent: int, name: str) -> None:
    """The same for an entry of an open directory."""
    try:
        status = os.lstat(name, dir_fd=parent)
    except FileNotFoundError:
        return
    if stat.S_ISDIR(status.st_mode):
        _Removal(parent, name, status.st_dev).run()
    else:
        os.unlink(name, dir_fd=parent)


class _Removal:
    """Goes down and up by single steps with one open descriptor; each step up must lead to where it came from."""

    def __init__(self, parent: int, name: str, device: int) -> None:
        self._device = device
        self._levels = [_Level("", _identity(parent))]
        self._here = os.dup(parent)
        self._error: OSError | None = None
        self._next: str | None = name

    def run(self) -> None:
        try:
            while self._next is not None:
                self._down(self._next)
                while len(self._levels) > 1 and (found := self._remove_entries()) is None:
                    self._up()
                self._next = found if len(self._levels) > 1 else None
        except FileNotFoundError:
            return  # somebody else has removed the directory that this stood in, and goes on
        finally:
            os.close(self._here)
        if self._error is not None:
            raise self._error

    def _down(self, name: str) -> None:
        try:
            inner = self._open(name)
        except OSError as error:
            self._leave(name, error)
            return
        self._levels.append(_Level(name, _identity(inner)))
        os.close(self._here)
        self._here = inner

    def _open(self, name: str) -> int:
        try:
            inner = os.open(name, _DIRECTORY, dir_fd=self._here)
        except PermissionError:
            if os.geteuid() == 0:
                raise
            os.chmod(name, 0o700, dir_fd=self._here)  # a directory of this process' own user
            inner = os.open(name, _DIRECTORY, dir_fd=self._here)
        if os.fstat(inner).st_dev != self._device:
            os.close(inner)
            raise OSError(errno.EXDEV, "another file system is mounted there", name)
        if os.geteuid() != 0:
            with contextlib.suppress(OSError):
                os.fchmod(inner, 0o700)
        return inner

    def _remove_entries(self) -> str | None:
        """Remove what can be removed at once; the name of a directory to go down into."""
        left = self._levels[-1].left
        with os.scandir(self._here) as entries:
            for entry in entries:
                if entry.name in left:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    return entry.name
                try:
                    os.unlink(entry.name, dir_fd=self._here)
                except OSError as error:
                    self._leave(entry.name, error)
        return None

    def _up(self) -> None:
        done = self._levels.pop()
        above = os.open("..", _DIRECTORY, dir_fd=self._here)
        os.close(self._here)
        self._here = above
        if _identity(above) != self._levels[-1].identity:
            raise OSError(errno.ESTALE, "a directory was moved while it was removed", done.name)
        try:
            os.rmdir(done.name, dir_fd=above)
        except OSError as error:
            self._leave(done.name, error)

    def _leave(self, name: str, error: OSError) -> None:
        self._levels[-1].left.add(name)
        if not isinstance(error, FileNotFoundError):  # somebody else removed it
            self._error = self._error or error


def _identity(directory: int) -> tuple[int, int]:
    status = os.fstat(directory)
    return status.st_dev, status.st_ino
