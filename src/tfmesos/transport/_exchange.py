"""One request and its answer on a connection. h11 reads one answer at a time, so each exchange has its own reader;
what follows its answer belongs to the next exchange."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from typing import NamedTuple

import h11

from tfmesos.transport.address import Address, TcpAddress
from tfmesos.transport.errors import ConnectionLost, ProtocolError, ResponseTooLarge, TransportError

DEFAULT_LIMIT = 64 * 1024 * 1024
_HEAD_LIMIT = 64 * 1024
_HIGH_WATER = 256 * 1024


class HttpResponse(NamedTuple):
    """A complete answer; header names are lower case, the last of equal ones counts."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes


class Exchange:
    """Bytes of an answer in, head and chunks out."""

    def __init__(self, address: Address, flow: Callable[[bool], None]) -> None:
        """`flow(False)` asks for no more bytes, `flow(True)` for more."""
        self._address = address
        self._flow = flow
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_LIMIT)
        self._chunks: deque[bytes] = deque()
        self._buffered = 0
        self._more = asyncio.Event()
        self._error: TransportError | None = None
        self.head: asyncio.Future[h11.Response] = asyncio.get_running_loop().create_future()
        self.is_done = False
        self.is_abandoned = False

    def encode(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
        """The request's bytes. ProtocolError where HTTP cannot carry it."""
        length = {"Content-Length": str(len(body))} if body or method != "GET" else {}
        parts = [h11.Data(data=body)] if body else []
        return self._send(self._request(method, path, {**headers, **length}), *parts, h11.EndOfMessage())

    def encode_head(self, method: str, path: str, headers: Mapping[str, str]) -> bytes:
        """The head of a request whose body follows in pieces. ProtocolError where HTTP cannot carry it."""
        return self._send(self._request(method, path, {**headers, "Transfer-Encoding": "chunked"}))

    def encode_piece(self, data: bytes) -> bytes:
        """A piece of the body; an empty one ends it."""
        return self._send(h11.Data(data=data) if data else h11.EndOfMessage())

    def _request(self, method: str, path: str, headers: Mapping[str, str]) -> h11.Request:
        fields = list(headers.items())
        if not any(name.lower() == "host" for name in headers):
            fields.insert(0, ("Host", str(self._address) if isinstance(self._address, TcpAddress) else "localhost"))
        try:
            return h11.Request(method=method, target=path, headers=fields)
        except h11.LocalProtocolError as error:
            raise ProtocolError(self._address, str(error)) from error

    def _send(self, *events: h11.Request | h11.Data | h11.EndOfMessage) -> bytes:
        try:
            return b"".join(bytes(self._http.send(event) or b"") for event in events)
        except h11.LocalProtocolError as error:
            raise ProtocolError(self._address, str(error)) from error

    def feed(self, data: bytes) -> bytes | None:
        """Take bytes (none: the peer's end). What is left over once the answer is complete, else None.

        Raises ProtocolError or ConnectionLost; `fail` must follow.
        """
        self._http.receive_data(data)
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                raise self._lost(data, error) from error
            match event:
                case h11.Response():
                    if not self.head.done():
                        self.head.set_result(event)
                case h11.Data():
                    self._buffer(bytes(event.data))
                case h11.EndOfMessage():
                    self.is_done = True
                    self._more.set()
                    return self._http.trailing_data[0]
                case h11.InformationalResponse():
                    continue
                case h11.ConnectionClosed():
                    raise ConnectionLost(self._address)
                case _:
                    return None

    @property
    def must_close(self) -> bool:
        """Whether the peer announced that it closes after this answer."""
        return self._http.their_state is not h11.DONE

    def fail(self, error: TransportError) -> None:
        """The answer will not come, or not be complete."""
        self._error = error
        if not self.head.done():
            self.head.set_exception(error)
            self.head.exception()  # whoever waited may be gone
        self._more.set()

    def abandon(self) -> None:
        """Nobody waits any more: the rest of the answer is thrown away."""
        self.is_abandoned = True
        self._chunks.clear()
        self._buffered = 0
        self._flow(True)

    async def next_chunk(self) -> bytes:
        """The next bytes of the body, empty at its end."""
        while not self._chunks:
            if self.is_done:
                return b""
            if self._error is not None:
                raise self._error
            self._more.clear()
            await self._more.wait()
        data = self._chunks.popleft() if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        self._buffered = 0
        self._flow(True)
        return data

    async def read(self, limit: int) -> bytes:
        """The rest of the body; ResponseTooLarge beyond `limit`."""
        parts = []
        size = 0
        while data := await self.next_chunk():
            size += len(data)
            if size > limit:
                raise ResponseTooLarge(self._address, limit)
            parts.append(data)
        return b"".join(parts)

    def _buffer(self, data: bytes) -> None:
        if self.is_abandoned:
            return
        self._chunks.append(data)
        self._buffered += len(data)
        self._more.set()
        if self._buffered > _HIGH_WATER:
            self._flow(False)

    def _lost(self, data: bytes, error: h11.RemoteProtocolError) -> TransportError:
        if not data:
            return ConnectionLost(self._address)
        return ProtocolError(self._address, str(error))


class HttpStream:
    """An answer whose body is read as it arrives; iterate over it for its bytes (boundaries mean nothing)."""

    def __init__(self, exchange: Exchange, head: h11.Response) -> None:
        self._exchange = exchange
        self.status = head.status_code
        self.reason = reason_of(head)
        self.headers = headers_of(head)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while data := await self._exchange.next_chunk():
            yield data

    async def read(self, limit: int = DEFAULT_LIMIT) -> bytes:
        """All that is left of the body; ResponseTooLarge beyond `limit` bytes."""
        return await self._exchange.read(limit)


def reason_of(head: h11.Response) -> str:
    """The words after the status."""
    return bytes(head.reason).decode("latin-1")


def headers_of(head: h11.Response) -> Mapping[str, str]:
    """The head's fields as text."""
    return {bytes(name).decode("latin-1"): bytes(value).decode("latin-1") for name, value in head.headers}
