"""Answers of the server."""

import asyncio
import gzip
from collections import deque
from collections.abc import Mapping

from aiohttp import HttpVersion11, web

from tfmesos.transport.message import LibprocessMessage, recognise

_TEXT = "text/plain; charset=utf-8"
_GZIP_FROM = 1024
_PIECE = 256 * 1024
"""Bytes of a stream that are written at once, so that they are in memory only a little more than once."""


def reply(
    status: int,
    body: bytes | str = b"",
    content_type: str | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    request: web.BaseRequest | None = None,
) -> web.Response:
    """A complete answer. Unless said otherwise a body is text, and without one there is no Content-Type (Mesos 1.11).

    With `request` given, a body of 1024 bytes or more is sent as gzip if the client takes that (as libprocess does).
    """
    data = body.encode(errors="replace") if isinstance(body, str) else body
    fields = dict(headers or {})
    if content_type is not None or data:
        fields.setdefault("Content-Type", content_type or _TEXT)
    if request is not None and len(data) >= _GZIP_FROM and _takes_gzip(request.headers.get("Accept-Encoding", "")):
        data = gzip.compress(data, compresslevel=6, mtime=0)
        fields["Content-Encoding"] = "gzip"
    return web.Response(status=status, body=data, headers=fields)


def _takes_gzip(accepted_codings: str) -> bool:
    for coding in accepted_codings.lower().split(","):
        name, _, weight = coding.replace(" ", "").partition(";")
        if name in ("gzip", "*"):
            return weight not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def message_of(request: web.BaseRequest) -> LibprocessMessage | None:
    """What message a request is (its body still to be read), None for any other request."""
    return recognise(
        request.method,
        request.rel_url.raw_path,
        request.headers.get("Libprocess-From"),
        request.headers.get("User-Agent"),
    )


def accepted() -> web.Response:
    """202: the answer to a libprocess message and to most calls."""
    return web.Response(status=202)


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
        self._status = status
        self._headers = {"Content-Type": content_type, **(headers or {})}
        self._limit = limit
        self._waiting: deque[bytes] = deque()
        self._is_writing = False
        self._unread_bytes = 0  # of what waits and of what is being written
        self._burst_bytes = 0  # of what came at once while nothing was unread: nobody could have read it yet
        self._wake = asyncio.Event()
        self._ended = False
        self._closed = False
        self._transport: asyncio.Transport | None = None

    @property
    def is_closed(self) -> bool:
        """Whether nothing more can be sent: ended, the client is gone, or it was too slow."""
        return self._ended or self._closed

    def send(self, data: bytes) -> None:
        """Add to the answer, never waiting; dropped when closed.

        Who leaves `limit` bytes unread, besides what came at once when all had been read, is cut off.
        """
        if self.is_closed:
            return
        if self._unread_bytes > self._limit + self._burst_bytes:
            self._cut_off()
            return
        self._waiting.append(data)
        self._unread_bytes += len(data)
        if not self._is_writing:
            self._burst_bytes += len(data)
        self._wake.set()

    def end(self) -> None:
        """Finish with the last chunk; the TCP connection stays open (Mesos 1.11: "stream closed" means this)."""
        self._ended = True
        self._wake.set()

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """Write what is sent until the end."""
        response = web.StreamResponse(status=self._status, headers=self._headers)
        if request.version >= HttpVersion11:
            response.enable_chunked_encoding()
        self._transport = request.transport
        try:
            await response.prepare(request)
            await self._write(response)
        finally:
            self._closed = True
            self._waiting.clear()
        return response

    async def _write(self, response: web.StreamResponse) -> None:
        while not self._ended or self._waiting:
            await self._wake.wait()
            self._wake.clear()
            self._is_writing = True
            while self._waiting and not self._closed:
                piece = self._take_piece()
                await response.write(piece)
                self._unread_bytes -= len(piece)
            if self._closed:
                raise ConnectionResetError("the client was cut off: it did not read its events")
            self._is_writing = False
            self._burst_bytes = 0

    def _take_piece(self) -> bytes:
        """What waits, up to about `_PIECE` bytes."""
        parts, size = [], 0
        while self._waiting and size < _PIECE:
            parts.append(self._waiting.popleft())
            size += len(parts[-1])
        return b"".join(parts)

    def _cut_off(self) -> None:
        self._closed = True
        self._waiting.clear()
        if self._transport is not None:
            self._transport.abort()
        self._wake.set()
