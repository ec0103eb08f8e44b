"""Sends libprocess messages and watches links (Mesos 1.11: libprocess' socket manager)."""

import asyncio
from collections.abc import Callable, Mapping

from tfmesos.transport._peer import Peer
from tfmesos.transport.address import Address, TcpAddress
from tfmesos.transport.message import encode_message
from tfmesos.transport.pid import Pid

_CLOSE_GRACE_S = 1.0


class LibprocessNode:
    """The sending half of a libprocess address; the receiving half is an HttpServer's `receive`.

    `host` and `port` are what peers are told to answer to. `routes` maps a pid's (host, port) to where it really
    listens (the embedded cluster: made-up pids over unix sockets).
    """

    def __init__(self, host: str, port: int, routes: Mapping[tuple[str, int], Address] | None = None) -> None:
        self._host = host
        self._port = port
        self._routes = dict(routes or {})
        self._peers: dict[tuple[str, int], Peer] = {}
        self._is_closed = False

    def pid(self, id: str) -> Pid:
        """The full name of a process of ours."""
        return Pid(id, self._host, self._port)

    def send(self, to: Pid, from_id: str, name: str, body: bytes) -> None:
        """Send at most once, never waiting: in order per destination, over the link if there is one, else over a
        temporary connection. What cannot be delivered is dropped (and logged at DEBUG)."""
        if to and not self._is_closed:
            self._peer(to).send(encode_message(to.id, self.pid(from_id), name, body))

    def link(self, to: Pid, on_exited: Callable[[Pid], None], *, reconnect: bool = False) -> None:
        """Keep a connection to `to`'s address and call `on_exited(to)` once, from the event loop, when it ends or
        cannot be made, however often that was asked for; the link is forgotten then. `reconnect` drops a connection
        that is there first, silently."""
        if to and not self._is_closed:
            self._peer(to).link(to, on_exited, reconnect=reconnect)

    def unlink(self, to: Pid) -> None:
        """Forget all links to `to`; nobody is told."""
        peer = self._peers.get((to.host, to.port))
        if peer is not None:
            peer.unlink(to)

    async def close(self) -> None:
        """Close all connections; nobody is told. What was sent before is still written if the peer takes it soon."""
        self._is_closed = True
        for peer in list(self._peers.values()):
            peer.finish()
        if self._peers:
            await asyncio.wait([asyncio.ensure_future(p.gone) for p in self._peers.values()], timeout=_CLOSE_GRACE_S)
        for peer in list(self._peers.values()):
            await peer.abort()

    def _peer(self, to: Pid) -> Peer:
        key = (to.host, to.port)
        peer = self._peers.get(key)
        if peer is None:
            address = self._routes.get(key) or TcpAddress(to.host, to.port)
            peer = self._peers[key] = Peer(address, on_idle=lambda: self._peers.pop(key, None))
        return peer
