"""Names that one process of this machine holds at a time."""

import asyncio
import socket

__all__ = ["NameLocks"]


_PAUSE_S = 0.01


class NameLocks:
    """Names that this process holds until it ends, or gives them back.

    A name is held by an abstract unix socket: such names are everybody's in a network namespace, leave no file, and
    vanish with the process however it ends (unix(7)).
    """

    def __init__(self, kind: str) -> None:
        """`kind`: what the names are of."""
        self._kind = kind
        self._locks: dict[str, socket.socket] = {}

    def take(self, name: str) -> bool:
        """Hold it; False where it is held already, by this process or another."""
        if name in self._locks:
            return False
        lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            lock.bind(f"\0tfmesos-{self._kind}-{name}")
        except OSError:
            lock.close()
            return False
        self._locks[name] = lock
        return True

    async def wait(self, name: str) -> None:
        """Hold it as soon as nobody else does."""
        while not self.take(name):  # noqa: ASYNC110  nothing tells when it is free
            await asyncio.sleep(_PAUSE_S)

    def give_back(self, name: str) -> None:
        """Hold it no longer."""
        self._locks.pop(name).close()

    def close(self) -> None:
        """Give all back."""
        for name in tuple(self._locks):
            self.give_back(name)
