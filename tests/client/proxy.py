"""A network that breaks on demand, between a client and any master."""

import asyncio
import contextlib


class Proxy:
    """Forwards TCP connections to `target` until they are cut or frozen."""

    def __init__(self, target: str) -> None:
        self._host, _, port = target.rpartition(":")
        self._port = int(port)
        self._writers: set[asyncio.StreamWriter] = set()
        self._thawed = asyncio.Event()
        self._thawed.set()
        self._frozen: list[asyncio.Event] = []

    async def start(self, port: int = 0) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)

    @property
    def port(self) -> int:
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def cut(self) -> None:
        """End every connection now."""
        for writer in self._writers:
            writer.transport.abort()

    def freeze(self) -> None:
        """Forward nothing any more on the connections there are, and say nothing about it."""
        self._thawed.clear()
        self._frozen.append(self._thawed)
        self._thawed = asyncio.Event()
        self._thawed.set()

    async def close(self) -> None:
        for frozen in self._frozen:
            frozen.set()
        self._server.close()
        self.cut()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        thawed = self._thawed
        there_reader, there_writer = await asyncio.open_connection(self._host, self._port)
        self._writers |= {writer, there_writer}
        with contextlib.suppress(asyncio.CancelledError):  # asyncio's streams complain about a cancelled server task
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(reader, there_writer, thawed))
                group.create_task(self._pump(there_reader, writer, thawed))
        self._writers -= {writer, there_writer}

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, thawed: asyncio.Event) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                await thawed.wait()
                writer.write(data)
                await writer.drain()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
