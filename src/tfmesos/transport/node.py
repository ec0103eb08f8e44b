"""Sends libprocess messages and watches links (Mesos 1.11: spec of libprocess, sections 2 and 2.1)."""

from collections.abc import Callable, Mapping

from tfmesos.transport.address import Address
from tfmesos.transport.pid import Pid


class LibprocessNode:
    """The sending half of a libprocess address; the receiving half is an HttpServer's `receive`.

    `host` and `port` are what peers are told to answer to. `routes` maps a pid's (host, port) to where it really
    listens (the embedded cluster: made-up pids over unix sockets).
    """

    def __init__(self, host: str, port: int, routes: Mapping[tuple[str, int], Address] | None = None) -> None:
        self._host = host
        self._port = port
        self._routes = dict(routes or {})

    def pid(self, id: str) -> Pid:
        """The full name of a process of ours."""
        return Pid(id, self._host, self._port)

    def send(self, to: Pid, from_id: str, name: str, body: bytes) -> None:
        """Send at most once, never waiting: in order per destination, over the link if there is one, else over a
        temporary connection. What cannot be delivered is dropped (and logged at DEBUG)."""
        raise NotImplementedError

    def link(self, to: Pid, on_exited: Callable[[Pid], None], *, reconnect: bool = False) -> None:
        """Keep a connection to `to`'s address and call `on_exited(to)` once, from the event loop, when it ends or
        cannot be made; the link is forgotten then. `reconnect` drops a connection that is there first, silently."""
        raise NotImplementedError

    def unlink(self, to: Pid) -> None:
        """Forget all links to `to`; nobody is told."""
        raise NotImplementedError

    async def close(self) -> None:
        """Close all connections; nobody is told. What was sent before is still written if the peer takes it soon."""
        raise NotImplementedError
