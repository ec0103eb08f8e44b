"""The HTTP server: aiohttp's low-level one behind a front that takes libprocess messages."""

import asyncio
import errno
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from tfmesos.transport._front import Fronts, Receiver, deliver
from tfmesos.transport.address import Address, TcpAddress, UnixAddress
from tfmesos.transport.answers import accepted, message_of, reply
from tfmesos.transport.errors import BindError

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

BODY_LIMIT = 64 * 1024 * 1024
_HEAD_LIMIT = 64 * 1024
_NEVER_S = 1e9
_BACKLOG = 1024
_GRACE_S = 0.05


class _RequestHandler(web.RequestHandler):
    """aiohttp's connection; one that speaks no HTTP is closed without an answer (Mesos 1.11, recorded)."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if isinstance(exc, HttpProcessingError | web.RequestPayloadError | ConnectionError):
            raise ConnectionError("no HTTP, or nobody left to answer") from exc
        return super().handle_error(request, status, exc, message)


class _AiohttpServer(web.Server):
    def __call__(self) -> web.RequestHandler:
        return _RequestHandler(
            self,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=_NEVER_S,
            access_log=None,  # type: ignore[arg-type]  # aiohttp: None switches it off
            max_line_size=_HEAD_LIMIT,
            max_field_size=_HEAD_LIMIT,
        )


class HttpServer:
    """Serves one address. No router: the room dispatches on `request.path` itself.

    Keep-alive has no end (Mesos 1.11: a closed idle link means "agent gone"); bodies up to 64 MiB; a handler is
    cancelled when its client goes away; bytes that are no HTTP close the connection without an answer.
    Libprocess messages go to `receive` (complete, in order, synchronously, even if the sender has closed already),
    which says whether the process `to_id` exists: 202 or 404. The handler never sees them, unless `receive` is None.
    """

    def __init__(self, http: web.Server, fronts: Fronts | None, listener: asyncio.Server, address: Address) -> None:
        self._http = http
        self._fronts = fronts
        self._listener = listener
        self._address = address

    @classmethod
    async def start(cls, handler: Handler, address: Address, receive: Receiver | None = None) -> "HttpServer":
        """Listen and serve; port 0 takes a free one. BindError names an address that cannot be had."""
        http = _AiohttpServer(
            handler if receive is None else _receiving(handler, receive),
            request_factory=_build_request,
            handler_cancellation=True,
        )
        fronts = None if receive is None else Fronts(receive, http, BODY_LIMIT)
        listener = await _listen(http if fronts is None else fronts.build, address)
        return cls(http, fronts, listener, _real_address(listener, address))

    @property
    def address(self) -> Address:
        """Where it listens, with the real port."""
        return self._address

    async def close(self) -> None:
        """Stop listening, cancel what is being handled, close every connection. May be called again."""
        self._listener.close()
        if isinstance(self._address, UnixAddress):
            with suppress(FileNotFoundError):
                os.unlink(self._address.path)
        if self._fronts is not None:
            self._fronts.close()
        await self._http.shutdown(timeout=_GRACE_S)
        await self._listener.wait_closed()


def _build_request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=BODY_LIMIT)


def _receiving(handler: Handler, receive: Receiver) -> Handler:
    """Messages that reach aiohttp (after another request on the same connection) go to the receiver all the same."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        message = message_of(request)
        if message is None:
            return await handler(request)
        known = deliver(receive, replace(message, body=await request.read()))
        return accepted() if known else reply(404, b"404 Not Found.")

    return handle


async def _listen(protocol: Callable[[], asyncio.Protocol], address: Address) -> asyncio.Server:
    loop = asyncio.get_running_loop()
    try:
        if isinstance(address, UnixAddress):
            return await loop.create_unix_server(protocol, address.path, backlog=_BACKLOG)
        found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, *_, bound = found[0]  # only the first: with port 0 each would get a port of its own
        return await loop.create_server(protocol, sock=_bound_socket(family, bound), backlog=_BACKLOG)
    except OSError as error:
        raise BindError(address, _bind_cause(error)) from error


def _bound_socket(family: int, address: Any) -> socket.socket:
    """Bound here and not by asyncio, whose error does not say why from Python 3.13 on."""
    created = socket.socket(family, socket.SOCK_STREAM)
    try:
        created.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        created.bind(address)
    except OSError:
        created.close()
        raise
    return created


def _bind_cause(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "the address is already in use; end what listens there or choose another port"
    if error.errno is None or isinstance(error, socket.gaierror):
        return error.strerror or str(error)
    return os.strerror(error.errno).lower()


def _real_address(listener: asyncio.Server, asked: Address) -> Address:
    if isinstance(asked, UnixAddress):
        return asked
    return TcpAddress(asked.host, int(listener.sockets[0].getsockname()[1]))
