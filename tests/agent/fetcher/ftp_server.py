"""A small FTP server (RFC 959, RFC 2428): who logs in, and binary files through passive connections."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class FtpServer:
    """What it has, and who came."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        """By their absolute path."""
        self.logins: list[tuple[str, str]] = []
        self.sends_half = False
        """Each file ends in the middle, and the server says so with a 426."""
        self.port = 0
        self._sessions: set[asyncio.Task[None] | None] = set()

    def url(self, login: str = "") -> str:
        """`login`: name, colon, password and @."""
        return f"ftp://{login}127.0.0.1:{self.port}"

    @classmethod
    @asynccontextmanager
    async def started(cls) -> AsyncIterator[FtpServer]:
        server = cls()
        listening = await asyncio.start_server(server._serve, "127.0.0.1", 0)
        server.port = listening.sockets[0].getsockname()[1]
        async with listening:
            yield server
            await asyncio.gather(*(session for session in server._sessions if session is not None))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._sessions.add(asyncio.current_task())
        session = _Session(self, writer)
        session.reply("220 ready")
        while line := await reader.readline():
            command, _, argument = line.decode().strip().partition(" ")
            await session.handle(command.upper(), argument)
        session.close()


class _Session:
    def __init__(self, server: FtpServer, writer: asyncio.StreamWriter) -> None:
        self._server = server
        self._writer = writer
        self._user = ""
        self._directory = "/"
        self._passive: asyncio.Server | None = None
        self._data: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()

    def reply(self, line: str) -> None:
        self._writer.write(f"{line}\r\n".encode())

    def close(self) -> None:
        self._stop_listening()
        while not self._data.empty():
            self._data.get_nowait().close()
        self._writer.close()

    async def handle(self, command: str, argument: str) -> None:
        match command:
            case "USER":
                self._user = argument
                self.reply("331 password?")
            case "PASS":
                self._server.logins.append((self._user, argument))
                self.reply("230 welcome")
            case "TYPE":
                self.reply("200 so be it" if argument == "I" else "504 binary only")
            case "CWD":
                self._change_directory(argument)
            case "PASV" | "EPSV":
                await self._listen(command)
            case "RETR":
                await self._send(argument)
            case "QUIT":
                self.reply("221 bye")
            case _:
                self.reply("502 unknown")

    def _path_of(self, argument: str) -> str:
        return posixpath.normpath(posixpath.join(self._directory, argument))

    def _change_directory(self, argument: str) -> None:
        wanted = self._path_of(argument)
        if any(path.startswith(f"{wanted.rstrip('/')}/") for path in self._server.files):
            self._directory = wanted
            self.reply("250 there")
        else:
            self.reply("550 no such directory")

    async def _listen(self, command: str) -> None:
        self._stop_listening()
        self._passive = await asyncio.start_server(lambda _, writer: self._data.put_nowait(writer), "127.0.0.1", 0)
        port = self._passive.sockets[0].getsockname()[1]
        if command == "EPSV":
            self.reply(f"229 entering (|||{port}|)")
        else:
            self.reply(f"227 entering (127,0,0,1,{port >> 8},{port & 255})")

    async def _send(self, argument: str) -> None:
        data = self._server.files.get(self._path_of(argument))
        if data is None:
            self.reply("550 no such file")
            return
        self.reply("150 here it comes")
        connection = await self._data.get()
        connection.write(data[: len(data) // 2] if self._server.sends_half else data)
        await connection.drain()
        connection.close()
        self.reply("426 the disk broke" if self._server.sends_half else "226 done")

    def _stop_listening(self) -> None:
        if self._passive is not None:
            self._passive.close()
            self._passive = None
