"""The master put together: flags in, a running daemon out."""

from collections.abc import Mapping

from tfmesos.master.flags import MasterFlags
from tfmesos.transport import Address, Pid


class Master:
    """One master on one address.

    `listen` overrides the flags' ip and port (the embedded cluster gives a unix socket); `routes` maps the (host, port)
    of made-up pids to the addresses behind them.
    """

    def __init__(
        self,
        flags: MasterFlags,
        *,
        listen: Address | None = None,
        routes: Mapping[tuple[str, int], Address] | None = None,
    ) -> None:
        flags.check()
        self._flags = flags
        self._listen = listen
        self._routes = dict(routes or {})

    @property
    def address(self) -> Address:
        """Where it listens, with the real port; once started."""
        raise NotImplementedError

    @property
    def pid(self) -> Pid:
        """`master@host:port` as agents address it; once started."""
        raise NotImplementedError

    async def start(self) -> None:
        """Listen and serve; raises MasterError (work_dir taken or unusable) or OSError's text as MasterError."""
        raise NotImplementedError

    async def close(self) -> None:
        """Stop listening, drop every connection and give the work_dir back. Nothing is told to agents (as Mesos)."""
        raise NotImplementedError
