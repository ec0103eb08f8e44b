"""Files under virtual paths: listings and pieces (Mesos 1.11: src/files).

A path's beginning stands for a real file or directory that is attached there; what follows must lie inside of it when
all symbolic links are resolved. Tasks own what lies there and may change it at any time: what was opened is checked
again by the descriptor, so that nothing outside is ever read.
"""

import contextlib
import errno
import grp
import os
import pwd
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from tfmesos.wire import mesos_pb2

READ_LIMIT = 16 * 4096
"""Mesos 1.11: at most 16 pages at once."""


class FileRefused(Exception):
    """A path or a range that is not served: `status` is HTTP's, `text` Mesos'."""

    def __init__(self, status: int, text: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.text = text


@dataclass(frozen=True, slots=True)
class Attached:
    """A real file or directory, and what of the asked path lies below it ("" for itself)."""

    base: str
    below: str = ""


class Attachments(Protocol):
    """What is attached where. Called for each request, `find` by any thread; must not wait."""

    def find(self, path: str) -> Attached | None:
        """What the beginning of this virtual path stands for; None if nothing does."""

    def all(self) -> dict[str, str]:
        """Every virtual path with the real one behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """One entry of a listing."""

    path: str
    status: os.stat_result
    user: str
    group: str

    def to_json(self) -> dict[str, str | int | float]:
        """An entry of /files/browse."""
        status = self.status
        return {
            "gid": self.group,
            "mode": stat.filemode(status.st_mode),
            "mtime": float(int(status.st_mtime)),
            "nlink": status.st_nlink,
            "path": self.path,
            "size": status.st_size,
            "uid": self.user,
        }

    def to_proto(self) -> mesos_pb2.FileInfo:
        """An entry of LIST_FILES."""
        status = self.status
        info = mesos_pb2.FileInfo(
            path=self.path,
            nlink=status.st_nlink,
            size=status.st_size,
            mode=status.st_mode,
            uid=self.user,
            gid=self.group,
        )
        info.mtime.nanoseconds = status.st_mtime_ns
        return info


class VirtualFiles:
    """The files of one program. Everything raises FileRefused."""

    def __init__(self, attachments: Attachments) -> None:
        self._attachments = attachments

    def attached(self) -> dict[str, str]:
        """Every virtual path with the real one behind it."""
        return self._attachments.all()

    def list(self, path: str) -> list[FileEntry]:
        """The entries of a directory, sorted by path, links shown as such; none of a file (recorded: /slave/log)."""
        with self._opened(path) as file:
            if not stat.S_ISDIR(os.fstat(file).st_mode):
                return []
            return list(_entries(file, path.rstrip("/")))

    def read(self, path: str, offset: int | None, length: int | None) -> tuple[int, bytes]:
        """The size of a file and up to 64 KiB of it from `offset` (None: nothing, just the size)."""
        with self._opened(path) as file:
            status = _regular(file, path, "read")
            if offset is None or offset >= status.st_size:
                return status.st_size, b""
            return status.st_size, os.pread(file, READ_LIMIT if length is None else min(length, READ_LIMIT), offset)

    def open_file(self, path: str) -> int:
        """A descriptor of a regular file, for the caller to close."""
        with self._opened(path) as file:
            _regular(file, path, "download")
            return os.dup(file)

    @contextlib.contextmanager
    def _opened(self, path: str) -> Iterator[int]:
        attached = self._attachments.find(path) if "\0" not in path else None
        if attached is None:
            raise FileRefused(404)
        base = os.path.realpath(attached.base)
        try:
            real = os.path.realpath(f"{base}/{attached.below}") if attached.below else base
            self._check_inside(base, real, path)
            # A task may have put a pipe there: neither opening nor reading it may wait.
            file = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise _refusal(error, path) from error
        try:
            self._check_inside(base, os.readlink(f"/proc/self/fd/{file}"), path)
            yield file
        finally:
            os.close(file)

    def _check_inside(self, base: str, real: str, path: str) -> None:
        if real != base and not real.startswith(base.rstrip("/") + "/"):
            raise FileRefused(400, f"'{path}' is inaccessible.\n")


def _refusal(error: OSError, path: str) -> FileRefused:
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
        return FileRefused(404)
    if error.errno in (errno.EACCES, errno.EPERM):
        return FileRefused(403)
    if error.errno in (errno.ELOOP, errno.ENXIO):  # a link put there meanwhile; a socket
        return FileRefused(400, f"'{path}' is inaccessible.\n")
    return FileRefused(500, f"Failed to open file at '{path}': {error.strerror}.\n")


def _entries(directory: int, path: str) -> Iterator[FileEntry]:
    user, group = cache(_user), cache(_group)  # each look reads the system's whole list
    for name in sorted(os.listdir(directory)):
        with contextlib.suppress(FileNotFoundError):  # removed meanwhile
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
            yield FileEntry(
                path=f"{path}/{_readable(name)}",
                status=status,
                user=user(status.st_uid),
                group=group(status.st_gid),
            )


def _readable(name: str) -> str:
    """A file's name as text, whatever bytes it has."""
    return os.fsencode(name).decode("utf-8", "replace")


def _regular(file: int, path: str, verb: str) -> os.stat_result:
    status = os.fstat(file)
    if stat.S_ISDIR(status.st_mode):
        raise FileRefused(400, f"Cannot {verb} a directory.\n")
    if not stat.S_ISREG(status.st_mode):
        raise FileRefused(400, f"'{path}' is no regular file.\n")
    return status


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _group(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
