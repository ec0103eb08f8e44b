"""Where a container runtime hands over the terminal that it has made (runc: docs/terminals.md, detached)."""

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from posixpath import basename, dirname

from tfmesos.supervision._program import StartError
from tfmesos.supervision._waking import Waiter

_MAX_NAME = 4096
"""What is said with the descriptor: its name."""
_PATIENCE_S = 2.0


class TerminalSocket:
    """Takes one descriptor, at once when somebody connects, or at the latest in `close`; then it is closed."""

    def __init__(self, path: bytes, waiter: Waiter, on_terminal: Callable[[int], None]) -> None:
        """Listen. Raises StartError."""
        self._path = path
        self._waiter = waiter
        self._on_terminal = on_terminal
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        directory = -1
        try:
            directory = os.open(dirname(path), os.O_PATH | os.O_DIRECTORY)
            # the whole path may be too long (kernel: unix(7), 108 bytes)
            self._listener.bind(b"/proc/self/fd/%d/%b" % (directory, basename(path)))
            self._listener.listen(1)
            self._listener.setblocking(False)
        except OSError as error:
            self._listener.close()
            raise StartError.of("listen at", path, error.strerror) from error
        finally:
            if directory >= 0:
                os.close(directory)
        waiter.add(self._listener.fileno(), self._on_connection)

    def close(self) -> None:
        """Nobody comes any more who has not come yet. Idempotent."""
        if self._listener.fileno() >= 0:
            self._on_connection()
            self._end()

    def _on_connection(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        with connection:
            connection.settimeout(_PATIENCE_S)
            try:
                _, descriptors, _, _ = socket.recv_fds(connection, _MAX_NAME, 1)
            except OSError:
                return
        self._end()
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
            self._on_terminal(descriptor)

    def _end(self) -> None:
        if self._listener.fileno() >= 0:
            self._waiter.remove(self._listener.fileno())
            self._listener.close()
            with suppress(OSError):
                os.unlink(self._path)
