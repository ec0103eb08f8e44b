"""One HTTP/1.1 connection of a client: ordered, pipelined, with notice of the peer's close."""

import asyncio
from collections import deque
from collections.abc import AsyncIterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, cast

from tfmesos.transport._exchange import DEFAULT_LIMIT, Exchange, HttpResponse, HttpStream, headers_of, reason_of
from tfmesos.transport._peer import connect
from tfmesos.transport.address import Address
from tfmesos.transport.errors import ConnectError, ConnectionLost, ProtocolError, TransportError, error_text

if TYPE_CHECKING:
    import ssl


class _Wire(asyncio.Protocol):
    """The socket: gives bytes to the exchanges in order."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.exchanges: deque[Exchange] = deque()
        self.transport: asyncio.Transport | None = None
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.writable = asyncio.Event()
        self.writable.set()
        self._is_reading = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def data_received(self, data: bytes) -> None:
        try:
            self._feed(data)
        except TransportError as error:
            self.end(error)

    def eof_received(self) -> None:
        if self.exchanges:
            try:
                self.exchanges[0].feed(b"")
            except TransportError as error:
                self.end(error)
            else:
                self.exchanges.popleft()

    def connection_lost(self, exc: Exception | None) -> None:
        self.end(ConnectionLost(self.address, str(exc)) if exc else ConnectionLost(self.address))

    def end(self, error: TransportError) -> None:
        """Close, and tell all who wait."""
        if self.transport is not None:
            self.transport.abort() if self.exchanges else self.transport.close()
        self.writable.set()
        while self.exchanges:
            self.exchanges.popleft().fail(error)
        if not self.lost.done():
            self.lost.set_result(None)

    def flow(self, wanted: bool) -> None:
        """Read from the socket, or let the peer wait."""
        if self.transport is None or wanted == self._is_reading or self.lost.done():
            return
        self._is_reading = wanted
        self.transport.resume_reading() if wanted else self.transport.pause_reading()

    def _feed(self, data: bytes) -> None:
        rest: bytes | None = data
        while rest:
            if not self.exchanges:
                raise ProtocolError(self.address, "an answer to no request")
            exchange = self.exchanges[0]
            rest = exchange.feed(rest)
            if rest is None:
                return
            self.exchanges.popleft()
            if exchange.must_close:
                self.end(ConnectionLost(self.address))
                return


class HttpConnection:
    """A kept connection. Requests may be pipelined: several callers await their answers, which arrive in order."""

    def __init__(self, wire: _Wire, transport: asyncio.Transport) -> None:
        self._wire = wire
        self._transport = transport
        name = transport.get_extra_info("sockname")
        self.local_host = str(name[0]) if isinstance(name, tuple) else "localhost"
        """Our own address on the way to the peer (`localhost` for a unix socket)."""

    @property
    def address(self) -> Address:
        """The peer's address."""
        return self._wire.address

    @classmethod
    async def open(
        cls, address: Address, timeout_s: float | None = 10.0, *, tls: "ssl.SSLContext | None" = None
    ) -> "HttpConnection":
        """Connect, by TLS if asked to; ConnectError names the address."""
        wire = _Wire(address)
        try:
            async with asyncio.timeout(timeout_s):
                transport = await connect(lambda: wire, address, tls)
        except TimeoutError as error:
            raise ConnectError(address, f"no answer within {timeout_s:g} s") from error
        except OSError as error:
            raise ConnectError(address, error_text(error)) from error
        return cls(wire, transport)

    async def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        limit: int = DEFAULT_LIMIT,
    ) -> HttpResponse:
        """Send a request and await its whole answer. A caller that is cancelled leaves the others undisturbed."""
        exchange = await self._send(method, path, headers, body)
        try:
            head = await exchange.head
            content = await exchange.read(limit)
        except TransportError as error:
            self._wire.end(error)
            raise
        except asyncio.CancelledError:
            exchange.abandon()
            raise
        return HttpResponse(status=head.status_code, reason=reason_of(head), headers=headers_of(head), body=content)

    async def stream(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> HttpStream:
        """Send a request and await the head of its answer. Whoever does not read to the end must close."""
        exchange = await self._send(method, path, headers, body)
        try:
            return HttpStream(exchange, await exchange.head)
        except asyncio.CancelledError:
            exchange.abandon()
            raise

    async def upload(
        self, method: str, path: str, headers: Mapping[str, str], pieces: AsyncIterable[bytes]
    ) -> HttpResponse:
        """Send a request whose body is made piece by piece, and await its whole answer.

        An answer that comes before the last piece ends the upload. No other request may be made meanwhile.
        """
        exchange = Exchange(self.address, self._wire.flow)
        self._begin(exchange, exchange.encode_head(method, path, headers))
        sending = asyncio.create_task(self._send_pieces(exchange, pieces))
        sending.add_done_callback(lambda ended: self.abort() if ended.cancelled() or ended.exception() else None)
        try:
            head = await exchange.head
            content = await exchange.read(DEFAULT_LIMIT)
        except TransportError:
            if sending.done():
                sending.result()
            raise
        finally:
            sending.cancel()
            await asyncio.wait([sending])
        return HttpResponse(status=head.status_code, reason=reason_of(head), headers=headers_of(head), body=content)

    async def _send_pieces(self, exchange: Exchange, pieces: AsyncIterable[bytes]) -> None:
        async for piece in pieces:
            if piece:
                await self._wire.writable.wait()
                self._transport.write(exchange.encode_piece(piece))
        self._transport.write(exchange.encode_piece(b""))

    @property
    def is_closed(self) -> bool:
        """Whether either side has closed."""
        return self._wire.lost.done()

    async def wait_closed(self) -> None:
        """Returns when either side has closed."""
        await asyncio.shield(self._wire.lost)

    def abort(self) -> None:
        """Close now; who still awaits an answer gets ConnectionLost. May be called again."""
        self._wire.end(ConnectionLost(self.address, "closed on this side"))

    async def close(self) -> None:
        """Close now, as `abort` does."""
        self.abort()

    async def __aenter__(self) -> "HttpConnection":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _send(self, method: str, path: str, headers: Mapping[str, str] | None, body: bytes) -> Exchange:
        exchange = Exchange(self.address, self._wire.flow)
        data = exchange.encode(method, path, headers or {}, body)
        await self._wire.writable.wait()
        self._begin(exchange, data)
        return exchange

    def _begin(self, exchange: Exchange, data: bytes) -> None:
        if self.is_closed:
            raise ConnectionLost(self.address)
        self._wire.exchanges.append(exchange)
        self._transport.write(data)
