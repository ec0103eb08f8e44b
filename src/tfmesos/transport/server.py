"""The HTTP server: aiohttp's low-level one behind a front that takes libprocess messages."""

from collections.abc import Awaitable, Callable

from aiohttp import web

from tfmesos.transport.address import Address
from tfmesos.transport.message import LibprocessMessage

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Receiver = Callable[[LibprocessMessage], bool]


class HttpServer:
    """Serves one address. No router: the room dispatches on `request.path` itself.

    Keep-alive has no end (Mesos 1.11: a closed idle link means "agent gone"); bodies up to 64 MiB; a handler is
    cancelled when its client goes away; bytes that are no HTTP close the connection without an answer.
    Libprocess messages go to `receive` (complete, in order, synchronously, even if the sender has closed already),
    which says whether the process `to_id` exists: 202 or 404. The handler never sees them, unless `receive` is None.
    """

    @classmethod
    async def start(cls, handler: Handler, address: Address, receive: Receiver | None = None) -> "HttpServer":
        """Listen and serve; port 0 takes a free one. BindError names an address that cannot be had."""
        raise NotImplementedError

    @property
    def address(self) -> Address:
        """Where it listens, with the real port."""
        raise NotImplementedError

    async def close(self) -> None:
        """Stop listening, cancel what is being handled, close every connection. May be called again."""
        raise NotImplementedError
