"""A directory that nothing can leave: every step of a path is taken by descriptor, and no link is followed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import BinaryIO

from tfmesos.agent.fetch_program.errors import FetchError

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def parts_of(path: str) -> list[str]:
    """The steps of a relative path; FetchError if it could lead out of where it begins."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts or "\0" in path:
        raise FetchError(f"{path!r} leaves the sandbox")
    return parts


class Place:
    """The directory that is written into."""

    def __init__(self, path: str) -> None:
        self._path = os.path.realpath(path)
        self._links: list[str] = []

    def create(self, path: str, mode: int = 0o666) -> BinaryIO:
        """A new file, open for writing; what had the name before is replaced. The umask applies to `mode`."""
        with self._parent(path) as (directory, name):
            return os.fdopen(self._replace(directory, name, mode), "wb")

    def make_directory(self, path: str, mode: int = 0o777) -> None:
        """Make a directory with those above it; one that is there stays."""
        parts = parts_of(path)
        if parts:
            with self._parent(path) as (directory, name):
                _make_directory(directory, name, mode | 0o700)

    def symlink(self, path: str, target: str) -> None:
        """A symbolic link; `check_links` is to follow when all is written."""
        if target.startswith("/") or "\0" in target:
            raise FetchError(f"{path!r} leads to {target!r}, which is not in the sandbox")
        with self._parent(path) as (directory, name):
            _remove(directory, name)
            os.symlink(target, name, dir_fd=directory)
        self._links.append(path)

    def link(self, path: str, existing: str) -> None:
        """A second name for a file that was written before."""
        with self._parent(existing) as (source, source_name), self._parent(path) as (directory, name):
            _remove(directory, name)
            os.link(source_name, name, src_dir_fd=source, dst_dir_fd=directory, follow_symlinks=False)

    def check_links(self) -> None:
        """Remove symbolic links that lead out, and raise FetchError for them: where one leads depends on all others."""
        outside = [path for path in self._links if not self._is_inside(path)]
        for path in outside:
            with contextlib.suppress(OSError), self._parent(path) as (directory, name):
                os.unlink(name, dir_fd=directory)
        self._links.clear()
        if outside:
            raise FetchError(f"{outside[0]!r} leads out of the sandbox")

    def _is_inside(self, path: str) -> bool:
        real = os.path.realpath(f"{self._path}/{path}")
        return real == self._path or real.startswith(f"{self._path}/")

    @contextlib.contextmanager
    def _parent(self, path: str) -> Iterator[tuple[int, str]]:
        """The directory that a path's last step is taken in, made if it is missing, and that step."""
        *above, name = parts_of(path) or [""]
        if not name:
            raise FetchError(f"{path!r} names no file")
        directory = os.open(self._path, _DIRECTORY)
        try:
            for part in above:
                _make_directory(directory, part, 0o777)
                inner = _enter(directory, part, path)
                os.close(directory)
                directory = inner
            yield directory, name
        finally:
            os.close(directory)

    def _replace(self, directory: int, name: str, mode: int) -> int:
        try:
            return os.open(name, _NEW, mode, dir_fd=directory)
        except FileExistsError:
            _remove(directory, name)
            return os.open(name, _NEW, mode, dir_fd=directory)


def _enter(directory: int, part: str, path: str) -> int:
    try:
        return os.open(part, _DIRECTORY, dir_fd=directory)
    except NotADirectoryError:  # a link, too
        raise FetchError(f"{path!r}: {part!r} is no directory") from None


def _make_directory(directory: int, name: str, mode: int) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, mode, dir_fd=directory)


def _remove(directory: int, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=directory)
