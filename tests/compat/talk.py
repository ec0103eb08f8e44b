"""A raw connection: requests go out as recorded, answers are read as HTTP, streams are cut into records."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import h11

from tfmesos.transport import Address, TcpAddress
from tfmesos.wire import RecordDecoder

_START_S = 60.0
_RETRY_S = 0.02


@dataclass(slots=True, kw_only=True)
class Answer:
    """The answer to one request; a stream's body comes in `records` instead."""

    status: int
    headers: dict[str, str]
    body: bytes | None


class Talk:
    """One connection to a program of ours."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._requests: deque[tuple[str, str]] = deque()
        self._news = asyncio.Condition()
        self._task = asyncio.create_task(self._read())
        self.answers: deque[Answer] = deque()
        self.records: list[bytes] = []
        self.is_stream = False
        self.media_type = ""
        self.has_ended = False
        self.is_broken = False

    @classmethod
    async def open(cls, address: Address) -> "Talk":
        """Connect; a program that is just starting is waited for."""
        assert isinstance(address, TcpAddress)
        async with asyncio.timeout(_START_S):
            while True:
                try:
                    return cls(*await asyncio.open_connection(address.host, address.port))
                except ConnectionRefusedError:
                    await asyncio.sleep(_RETRY_S)

    async def send(self, request: bytes) -> None:
        """Send the bytes of one request."""
        method, target = request.split(b" ", 2)[:2] if request.count(b" ") > 1 else (b"GET", b"/")
        async with self._news:
            self._requests.append((method.decode("latin-1"), target.decode("latin-1")))
            self._news.notify_all()
        try:
            self._writer.write(request)
            await self._writer.drain()
        except ConnectionError:
            await self._break()

    async def wait_for(self, ready: Callable[[], bool], timeout_s: float) -> bool:
        """Whether it became ready in time; it is looked at again whenever something came."""
        try:
            async with asyncio.timeout(timeout_s), self._news:
                await self._news.wait_for(ready)
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        """Close our end."""
        self._task.cancel()
        self._writer.close()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _read(self) -> None:
        connection = h11.Connection(h11.CLIENT)
        try:
            while True:
                await self._read_answer(connection)
                connection.start_next_cycle()
        except (h11.ProtocolError, OSError, EOFError):
            await self._break()

    async def _break(self) -> None:
        async with self._news:
            self.is_broken = self.has_ended = True
            self._news.notify_all()

    async def _read_answer(self, connection: h11.Connection) -> None:
        async with self._news:
            await self._news.wait_for(lambda: bool(self._requests))
        method, target = self._requests.popleft()
        connection.send(h11.Request(method=method, target=target, headers=[("host", "x")]))
        connection.send(h11.EndOfMessage())
        answer, decoder = Answer(status=0, headers={}, body=b""), RecordDecoder()
        while not isinstance(event := connection.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                data = await self._reader.read(65536)
                connection.receive_data(data)
            elif isinstance(event, h11.Response):
                answer.status = event.status_code
                answer.headers = {name.decode(): value.decode("latin-1") for name, value in event.headers}
                if answer.status == 200 and answer.headers.get("transfer-encoding") == "chunked":
                    self.is_stream, self.media_type = True, answer.headers.get("content-type", "")
                    answer.body = None
                    await self._tell(answer)
            elif isinstance(event, h11.Data):
                if self.is_stream:
                    self.records += decoder.feed(bytes(event.data))
                    await self._tell(None)
                else:
                    answer.body = (answer.body or b"") + bytes(event.data)
            elif isinstance(event, h11.ConnectionClosed):
                raise EOFError
        if self.is_stream:
            self.has_ended = True
            await self._tell(None)
        else:
            await self._tell(answer)

    async def _tell(self, answer: Answer | None) -> None:
        async with self._news:
            if answer is not None:
                self.answers.append(answer)
            self._news.notify_all()
