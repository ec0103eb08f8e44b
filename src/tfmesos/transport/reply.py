"""Answers of the server."""

from collections.abc import Mapping

from aiohttp import web

from tfmesos.transport.message import LibprocessMessage


def reply(
    status: int,
    body: bytes | str = b"",
    content_type: str = "text/plain",
    headers: Mapping[str, str] | None = None,
    *,
    request: web.BaseRequest | None = None,
) -> web.Response:
    """A complete answer; with `request`, gzip for a body of 1024 bytes or more if the client takes it (as libprocess)."""
    raise NotImplementedError


def message_of(request: web.BaseRequest) -> LibprocessMessage | None:
    """What message a request is (its body still to be read), None for any other request."""
    raise NotImplementedError


def accepted() -> web.Response:
    """202: the answer to a libprocess message and to most calls."""
    raise NotImplementedError


class StreamReply:
    """A chunked answer that is fed from elsewhere (a master's event stream).

    stream = StreamReply("application/x-protobuf", {"Mesos-Stream-Id": …})
    try:
        return await stream.serve(request)      # returns after `end()`; cancelled when the client goes away
    finally:
        …                                       # the subscriber is gone
    """

    def __init__(
        self,
        content_type: str,
        headers: Mapping[str, str] | None = None,
        *,
        status: int = 200,
        limit: int = 64 * 1024 * 1024,
    ) -> None:
        raise NotImplementedError

    @property
    def is_closed(self) -> bool:
        """Whether nothing more can be sent: ended, the client is gone, or it was too slow."""
        raise NotImplementedError

    def send(self, data: bytes) -> None:
        """Add to the answer, never waiting; dropped when closed. A client that leaves `limit` bytes unread is cut off."""
        raise NotImplementedError

    def end(self) -> None:
        """Finish with the last chunk; the TCP connection stays open (Mesos 1.11: "stream closed" means this)."""
        raise NotImplementedError

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """Write what is sent until the end."""
        raise NotImplementedError
