"""The outgoing connection to one libprocess address: a link that is kept, or a temporary one."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from tfmesos.transport.address import Address, UnixAddress
from tfmesos.transport.errors import error_text
from tfmesos.transport.pid import Pid

if TYPE_CHECKING:
    import ssl

_log = logging.getLogger(__name__)
_CONNECT_TIMEOUT_S = 10.0
_END_TIMEOUT_S = 5.0
_UNWRITTEN_LIMIT = 64 * 1024 * 1024

Exited = Callable[[Pid], None]


async def connect(
    protocol: Callable[[], asyncio.BaseProtocol], address: Address, tls: "ssl.SSLContext | None" = None
) -> asyncio.Transport:
    """A connection to the address, by TLS if asked to. Raises OSError."""
    loop = asyncio.get_running_loop()
    if isinstance(address, UnixAddress):
        transport, _ = await loop.create_unix_connection(
            protocol, address.path, ssl=tls, server_hostname="localhost" if tls else None
        )
    else:
        transport, _ = await loop.create_connection(protocol, address.host, address.port, ssl=tls)
    return transport


class _Wire(asyncio.BufferedProtocol):
    """One TCP connection: throws the peer's answers away (it may block otherwise) and reports the end."""

    _waste = bytearray(16 * 1024)

    def __init__(self, on_lost: Callable[["_Wire", Exception | None], None]) -> None:
        self._on_lost = on_lost

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._waste

    def buffer_updated(self, nbytes: int) -> None:
        pass

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_lost(self, exc)


class Peer:
    """Everything we have with one address. Writes stay in order over all its connections, because the next one is only
    opened when the one before is closed.

    A connection without a link is ended as soon as its messages are written: we shut down our side and wait for the
    peer's end, so that nothing under way meets a reset.
    """

    def __init__(self, address: Address, on_idle: Callable[[], object]) -> None:
        self._address = address
        self._on_idle = on_idle
        self._links: list[tuple[Pid, Exited]] = []
        self._unsent: list[bytes] = []
        self._unsent_bytes = 0
        self._wire: _Wire | None = None
        self._transport: asyncio.Transport | None = None
        self._ending: asyncio.TimerHandle | None = None
        self._opening: asyncio.Task[None] | None = None
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def send(self, data: bytes) -> None:
        """Write at the end of this turn of the loop, or as soon as there is a connection."""
        if self._unsent_bytes + len(data) > _UNWRITTEN_LIMIT:
            _log.warning("too many messages wait for %s: one dropped", self._address)
            return
        self._unsent.append(data)
        self._unsent_bytes += len(data)
        if self._transport is None or self._ending is not None:
            self._open_soon()
        elif len(self._unsent) == 1:
            asyncio.get_running_loop().call_soon(self._write_unsent)

    def link(self, to: Pid, on_exited: Exited, *, reconnect: bool) -> None:
        """Keep the connection; `on_exited` hears of its end."""
        if (to, on_exited) not in self._links:
            self._links.append((to, on_exited))
        if reconnect and self._transport is not None:
            self._write_unsent()
            transport, self._wire, self._transport = self._transport, None, None
            self._stop_ending()
            transport.close()
        self._open_soon()

    def unlink(self, to: Pid) -> None:
        """Forget the links to `to`; without any link left the connection is temporary."""
        self._links = [(pid, exited) for pid, exited in self._links if pid != to]
        self._end_if_unlinked()

    def finish(self) -> None:
        """Forget all links; `gone` is done when the rest is written."""
        self._links = []
        self._end_if_unlinked()

    async def abort(self) -> None:
        """Drop everything now."""
        self._unsent = []
        self._links = []
        opening = self._opening
        if opening is not None:
            opening.cancel()
            with suppress(asyncio.CancelledError):
                await opening
        if self._transport is not None:
            self._transport.abort()
            await self.gone

    def _open_soon(self) -> None:
        if self._transport is None and self._opening is None:
            self._opening = asyncio.create_task(self._open())

    async def _open(self) -> None:
        wire = _Wire(self._on_lost)
        try:
            async with asyncio.timeout(_CONNECT_TIMEOUT_S):
                transport = await connect(lambda: wire, self._address)
        except (OSError, TimeoutError) as error:
            _log.warning("cannot connect to %s: %s", self._address, _reason(error))
            self._opening = None
            self._lose(error)
            return
        except asyncio.CancelledError:
            self._opening = None
            self._rest()
            raise
        self._opening = None
        self._wire, self._transport = wire, transport
        self._write_unsent()
        self._end_if_unlinked()

    def _write_unsent(self) -> None:
        """All at once: a write costs as much as dozens of messages, and wakes the peer."""
        if self._transport is None or self._ending is not None or not self._unsent:
            return
        self._transport.write(b"".join(self._unsent))
        self._unsent = []
        self._unsent_bytes = 0
        if self._transport.get_write_buffer_size() > _UNWRITTEN_LIMIT:
            _log.warning("%s does not read its messages: connection dropped", self._address)
            self._transport.abort()

    def _end_if_unlinked(self) -> None:
        if self._transport is not None and not self._links and self._ending is None:
            self._write_unsent()
            self._ending = asyncio.get_running_loop().call_later(_END_TIMEOUT_S, self._transport.abort)
            self._transport.write_eof()

    def _stop_ending(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None

    def _on_lost(self, wire: _Wire, error: Exception | None) -> None:
        if wire is not self._wire:
            return
        self._wire = self._transport = None
        if self._ending is None:
            self._lose(error)
            return
        self._stop_ending()
        if self._unsent or self._links:
            self._open_soon()
        else:
            self._rest()

    def _lose(self, error: Exception | None) -> None:
        _log.debug(
            "%s: connection ended (%s), %d messages dropped", self._address, error or "closed", len(self._unsent)
        )
        self._unsent = []
        self._unsent_bytes = 0
        links, self._links = self._links, []
        self._rest()
        for to, on_exited in links:
            asyncio.get_running_loop().call_soon(on_exited, to)

    def _rest(self) -> None:
        self._on_idle()
        if not self.gone.done():
            self.gone.set_result(None)


def _reason(error: OSError) -> str:
    # A TimeoutError of ours is an OSError without a number.
    return error_text(error) if error.errno else f"no answer within {_CONNECT_TIMEOUT_S:g} s"
