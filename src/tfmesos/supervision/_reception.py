"""Where those who were not there at the fork reach a supervisor."""

import os
import socket
from collections.abc import Callable
from contextlib import suppress

from tfmesos.supervision._frames import FrameReader, Kind
from tfmesos.supervision._waking import Waiter

_MAX_VISITORS = 16
_READ_SIZE = 64 << 10


class Visitor:
    """Someone who connected and may not have said yet what it wants."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.frames = FrameReader()


class Reception:
    """Listens; gives each visitor with what it says first, and whatever it said with that, to `on_visitor`.

    Who says anything that is no frame is shown out, and who says nothing when the next ones come.
    """

    def __init__(
        self,
        listener: socket.socket,
        path: bytes,
        waiter: Waiter,
        on_visitor: Callable[[Visitor, list[tuple[Kind, bytes]]], None],
    ) -> None:
        """`path` is where the listener is bound."""
        self._path = path
        self._waiter = waiter
        self._on_visitor = on_visitor
        self._silent: dict[int, Visitor] = {}
        self._listener = listener
        waiter.add(listener.fileno(), self._on_connection)

    def close(self) -> None:
        """Nobody can come any more, and nobody who is told that the program has ended finds the socket."""
        self._waiter.remove(self._listener.fileno())
        self._listener.close()
        with suppress(OSError):
            os.unlink(self._path)
        while self._silent:
            self._show_out(next(iter(self._silent)))

    def _on_connection(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return  # it has given up, or there is no descriptor for it now
        connection.setblocking(False)
        if len(self._silent) >= _MAX_VISITORS:
            self._show_out(next(iter(self._silent)))
        descriptor = connection.fileno()
        self._silent[descriptor] = Visitor(connection)
        self._waiter.add(descriptor, lambda: self._on_words(descriptor))

    def _on_words(self, descriptor: int) -> None:
        visitor = self._silent[descriptor]
        try:
            data = visitor.connection.recv(_READ_SIZE)
            said = visitor.frames.feed(data)
        except (BlockingIOError, InterruptedError):
            return
        except (OSError, ValueError):
            data = b""
        if not data:
            self._show_out(descriptor)
        elif said:
            del self._silent[descriptor]
            self._waiter.remove(descriptor)
            self._on_visitor(visitor, said)

    def _show_out(self, descriptor: int) -> None:
        self._waiter.remove(descriptor)
        self._silent.pop(descriptor).connection.close()
