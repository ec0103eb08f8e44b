"""What stands before aiohttp on each accepted connection: takes libprocess messages, hands everything else on.

Why not aiohttp for all: it drops requests that it has not begun when their connection closes, and libprocess closes
temporary connections right after the last byte (Mesos 1.11: pings to a disconnected agent, pongs before registration).
A message costs a tenth here, too.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import cast

from tfmesos.transport._parser import MessageError, MessageParser
from tfmesos.transport.message import LibprocessMessage

Receiver = Callable[[LibprocessMessage], bool]

_log = logging.getLogger(__name__)
_NOT_FOUND = "HTTP/1.1 404 Not Found\r\nDate: {date}\r\nContent-Length: 14\r\n\r\n404 Not Found."
_ACCEPTED = "HTTP/1.1 202 Accepted\r\nDate: {date}\r\nContent-Length: 0\r\n\r\n"


def deliver(receive: Receiver, message: LibprocessMessage) -> bool:
    """Hand a message over; a receiver that fails on one message keeps its link (a closed one would mean "gone")."""
    try:
        return receive(message)
    except Exception:
        _log.exception("receiver of %s for %s failed", message.name, message.to_id)
        return True


class _Answers:
    """The two answers, with a Date that is made once a second."""

    def __init__(self) -> None:
        self._second = 0
        self._accepted = self._not_found = b""

    def answer(self, exists: bool) -> bytes:
        second = int(time.time())
        if second != self._second:
            self._second = second
            date = formatdate(second, usegmt=True)
            self._accepted = _ACCEPTED.format(date=date).encode()
            self._not_found = _NOT_FOUND.format(date=date).encode()
        return self._accepted if exists else self._not_found


class Fronts:
    """Makes the fronts of one server and knows the open ones."""

    def __init__(self, receive: Receiver, build_http: Callable[[], asyncio.Protocol], body_limit: int) -> None:
        self.receive = receive
        self.build_http = build_http
        self.body_limit = body_limit
        self.answers = _Answers()
        self.open: set[Front] = set()

    def build(self) -> "Front":
        """The protocol of a new connection."""
        return Front(self)

    def close(self) -> None:
        """Close the connections that were not handed on."""
        for front in list(self.open):
            front.abort()


class Front(asyncio.Protocol):
    """One connection, until it turns out to be something else than libprocess."""

    def __init__(self, fronts: Fronts) -> None:
        self._fronts = fronts
        self._parser = MessageParser(fronts.body_limit)
        self._transport: asyncio.Transport | None = None

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._fronts.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._fronts.open.discard(self)

    def pause_writing(self) -> None:
        """The peer does not read our answers: read no more of its messages."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        if self._transport is not None:
            self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        transport = self._transport
        assert transport is not None
        try:
            messages = self._parser.feed(data)
        except MessageError as error:
            _log.debug("connection closed: %s", error)
            transport.abort()
            return
        if messages:
            answer = self._fronts.answers.answer
            receive = self._fronts.receive
            transport.write(b"".join([answer(deliver(receive, message)) for message in messages]))
        if self._parser.foreign is not None:
            self._hand_on(transport, self._parser.foreign)

    def _hand_on(self, transport: asyncio.Transport, data: bytes) -> None:
        self._fronts.open.discard(self)
        http = self._fronts.build_http()
        transport.set_protocol(http)
        http.connection_made(transport)
        http.data_received(data)
