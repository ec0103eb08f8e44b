"""Sandboxes seen from outside: virtual paths, listings, pieces of files (Mesos 1.11).

A virtual path begins with what is attached to a container's sandbox:

    <work_dir>/slaves/<agent>/frameworks/<framework>/executors/<executor>/runs/<container or latest>
                             /frameworks/<framework>/executors/<executor>/runs/<container or latest>

What follows must lie in that sandbox when all symbolic links are resolved.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tfmesos.agent.users import group_name, user_name

READ_LIMIT = 16 * 4096  # Mesos 1.11: at most 16 pages at once

_RUN = re.compile(r"(?:/slaves/([^/]+))?(/frameworks/[^/]+/executors/[^/]+/runs/[^/]+)(/.*)?", re.DOTALL)


class FileRefused(Exception):
    """A path or a range that is not served: `status` is HTTP's, `text` Mesos'."""

    def __init__(self, status: int, text: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.text = text


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """One entry of a listing."""

    path: str
    status: os.stat_result

    @property
    def user(self) -> str:
        return user_name(self.status.st_uid)

    @property
    def group(self) -> str:
        return group_name(self.status.st_gid)

    @property
    def mode_text(self) -> str:
        return stat.filemode(self.status.st_mode)


class SandboxFiles:
    """The files of all sandboxes of one agent. Everything raises FileRefused."""

    def __init__(self, work_dir: Path, agent_id: Callable[[], str | None]) -> None:
        self._work_dir = str(work_dir)
        self._agent_id = agent_id

    def list(self, path: str) -> list[FileEntry]:
        """The entries of a directory (of a file: itself), sorted by path; links are shown as such."""
        real = self.resolve(path)
        if not os.path.isdir(real):
            return [FileEntry(path=path, status=os.lstat(real))]
        return list(_entries(real, path.rstrip("/")))

    def read(self, path: str, offset: int | None, length: int | None) -> tuple[int, bytes]:
        """The size of a file and up to 64 KiB of it from `offset` (None: nothing, just the size)."""
        real = self.resolve(path)
        if os.path.isdir(real):
            raise FileRefused(400, "Cannot read a directory.\n")
        try:
            # A task may have put a pipe there: neither opening nor reading it may wait.
            file = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise FileRefused(500, f"Failed to open file at '{path}': {error.strerror}.\n") from error
        try:
            return _piece(file, offset, READ_LIMIT if length is None else min(length, READ_LIMIT), path)
        finally:
            os.close(file)

    def resolve_file(self, path: str) -> str:
        """The real path of a virtual one that is no directory."""
        real = self.resolve(path)
        if os.path.isdir(real):
            raise FileRefused(400, "Cannot download a directory.\n")
        if not os.path.isfile(real):
            raise FileRefused(400, f"'{path}' is no regular file.\n")
        return real

    def resolve(self, path: str) -> str:
        """The real path of a virtual one."""
        base, rest = self._attached(path)
        if base is None or not os.path.isdir(base):
            raise FileRefused(404)
        sandbox = os.path.realpath(base)
        real = os.path.realpath(f"{sandbox}/{rest}") if rest else sandbox
        if real != sandbox and not real.startswith(f"{sandbox}/"):
            raise FileRefused(400, f"'{path}' is inaccessible.\n")
        if not os.path.exists(real):
            raise FileRefused(404)
        return real

    def _attached(self, path: str) -> tuple[str | None, str]:
        """The directory that a path's beginning stands for, and the rest."""
        match = None if "\0" in path else _RUN.fullmatch(path.removeprefix(self._work_dir))
        if match is None or bool(match[1]) != path.startswith(f"{self._work_dir}/slaves/"):
            return None, ""
        agent_id = match[1] or self._agent_id()
        attached = f"/slaves/{agent_id}{match[2]}"
        if not agent_id or ".." in attached.split("/"):
            return None, ""
        return self._work_dir + attached, (match[3] or "").lstrip("/")


def _entries(directory: str, path: str) -> Iterator[FileEntry]:
    for name in sorted(os.listdir(directory)):
        with contextlib.suppress(FileNotFoundError):  # removed meanwhile
            yield FileEntry(path=f"{path}/{name}", status=os.lstat(f"{directory}/{name}"))


def _piece(file: int, offset: int | None, length: int, path: str) -> tuple[int, bytes]:
    """The size of an open file and a piece of it."""
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode):
        raise FileRefused(400, f"'{path}' is no regular file.\n")
    if offset is None or offset >= status.st_size:
        return status.st_size, b""
    return status.st_size, os.pread(file, length, offset)
