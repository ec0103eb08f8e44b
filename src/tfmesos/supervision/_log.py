"""The files that a supervisor writes a program's output to, when the program does not do that itself."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress

from tfmesos.supervision._program import APPENDING, StartError, open_file

_LOST = (OSError, StartError)
"""What makes output vanish: a full disk and the like must not hold the program up."""


class LogFile:
    """Appends; a file that is full is moved aside, as <path>.1, which becomes <path>.2 …

    Lines are kept whole unless one is longer than a file may be.
    """

    def __init__(
        self, path: bytes, limit: tuple[int, int] | None, as_user: Callable[[], AbstractContextManager[None]]
    ) -> None:
        """`limit`: bytes of a file, and how many old ones are kept. Opens it; raises StartError."""
        self._path = path
        self._limit = limit
        self._as_user = as_user
        self._descriptor: int | None = open_file(path, APPENDING)
        self._size = os.fstat(self._descriptor).st_size

    def write(self, data: bytes) -> None:
        """Never raises; what cannot be written is lost."""
        while data:
            size = self._room_for(data)
            if size:
                self._append(data[:size])
            data = data[size:]
            if data:
                self._rotate()

    def close(self) -> None:
        """Idempotent."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _room_for(self, data: bytes) -> int:
        """How much of it goes into this file; 0: nothing, it has to be moved aside."""
        if self._limit is None or self._size + len(data) <= self._limit[0]:
            return len(data)
        room = max(self._limit[0] - self._size, 0)
        whole_lines = data.rfind(b"\n", 0, room) + 1
        return whole_lines or (room if not self._size else 0)

    def _append(self, data: bytes) -> None:
        self._size += len(data)
        if self._descriptor is None:
            return
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:
            return

    def _rotate(self) -> None:
        self.close()
        self._size = 0
        try:
            with self._as_user():
                self._move_aside()
                self._descriptor = open_file(self._path, APPENDING | os.O_NOFOLLOW)
        except _LOST:
            return

    def _move_aside(self) -> None:
        assert self._limit is not None
        names = [self._path, *(b"%s.%d" % (self._path, number) for number in range(1, self._limit[1] + 1))]
        for number in range(len(names) - 1, 0, -1):
            if os.path.lexists(names[number - 1]):
                os.rename(names[number - 1], names[number])
        if len(names) == 1:
            with suppress(FileNotFoundError):
                os.unlink(self._path)
