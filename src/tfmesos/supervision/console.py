"""Attached to a program's stdin and output."""

import asyncio
import socket
from collections import deque
from contextlib import suppress
from typing import Literal, Self

from tfmesos.supervision._frames import FrameReader, Kind, encode_frame
from tfmesos.supervision.errors import ConsoleBusy, SupervisionError

OutputName = Literal["stdout", "stderr"]
_NAMES: dict[Kind, OutputName] = {Kind.STDOUT: "stdout", Kind.STDERR: "stderr"}
_PIECE = 32 << 10
_READ_SIZE = 64 << 10


class ConsoleStream:
    """One attachment; made by `Supervised.console`. Iterating gives the output from now on, until its last byte.

    Who does not take the output holds the program up, for at most 30 s: then this attachment ends.
    """

    def __init__(self, connection: socket.socket) -> None:
        """Made by `attach` only."""
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._frames = FrameReader()
        self._unread: deque[tuple[Kind, bytes]] = deque()
        self._reading = asyncio.Lock()
        self._writing = asyncio.Lock()

    @classmethod
    async def attach(cls, connection: socket.socket, *, output: bool, input: bool) -> Self:
        """Ask the supervisor at the other end of `connection` for it; as `Supervised.console`."""
        self = cls(connection)
        wishes = (b"o" if output else b"") + (b"i" if input else b"")
        try:
            await self._send(Kind.ATTACH, wishes)
            answer = await self._read_frame()
            if answer is None:
                raise SupervisionError("the program has ended")
            kind, body = answer
            if kind is Kind.REFUSED:
                raise ConsoleBusy(body.decode())
        except BaseException:
            await self.close()
            raise
        return self

    async def __aenter__(self) -> Self:
        """Itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.close()

    def __aiter__(self) -> Self:
        """Itself."""
        return self

    async def __anext__(self) -> tuple[OutputName, bytes]:
        """Where it was written to, and what; never empty."""
        frame = await self._read_frame()
        if frame is None:
            raise StopAsyncIteration
        kind, body = frame
        return _NAMES[kind], body

    async def write_stdin(self, data: bytes) -> None:
        """Returns when there is room for more. What the program does not take any more is dropped."""
        for start in range(0, len(data), _PIECE):
            await self._send(Kind.STDIN, data[start : start + _PIECE])

    async def close_stdin(self) -> None:
        """The program reads the end of its stdin after what was written; a terminal gets its end-of-file character."""
        await self._send(Kind.STDIN, b"")

    async def resize(self, rows: int, columns: int) -> None:
        """The program gets SIGWINCH; nothing without a terminal."""
        await self._send(Kind.RESIZE, f"{rows} {columns}".encode())

    async def close(self) -> None:
        """The program goes on, and its stdin stays open for whoever attaches next. Idempotent."""
        if self._connection.fileno() < 0:
            return
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)  # whoever reads or writes at the moment returns
        async with self._reading, self._writing:
            self._connection.close()

    async def _send(self, kind: Kind, body: bytes) -> None:
        async with self._writing:
            with suppress(OSError):
                await self._loop.sock_sendall(self._connection, encode_frame(kind, body))

    async def _read_frame(self) -> tuple[Kind, bytes] | None:
        """None: the end."""
        async with self._reading:
            while not self._unread:
                try:
                    data = await self._loop.sock_recv(self._connection, _READ_SIZE)
                except OSError:
                    return None
                if not data:
                    return None
                self._unread += self._frames.feed(data)
            return self._unread.popleft()
