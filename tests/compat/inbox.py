"""The receiving end of the recorded other side."""

import asyncio
from collections.abc import Callable, Collection

from tfmesos.transport import LibprocessMessage, LibprocessNode, Pid

AGENT_PID = Pid("slave(1)", "127.0.0.1", 5051)
MASTER_PID = Pid("master", "127.0.0.1", 5050)

_PING = "mesos.internal.PingSlaveMessage"
_PONG = "mesos.internal.PongSlaveMessage"


class Inbox:
    """What a program of ours sends to the recorded other side.

    Pings are answered at once besides: the recording keeps the first two only, and its time is not ours.
    """

    def __init__(self) -> None:
        self._messages: list[LibprocessMessage] = []
        self._arrived = asyncio.Event()
        self._node = LibprocessNode(AGENT_PID.host, AGENT_PID.port)
        self.is_silent = False
        """Whether pings are left without an answer."""

    def receive(self, message: LibprocessMessage) -> bool:
        """Called by the server for each message."""
        self._messages.append(message)
        self._arrived.set()
        if message.name == _PING and not self.is_silent:
            self._node.send(message.sender, AGENT_PID.id, _PONG, b"")
        return True

    async def take(self, fits: Callable[[LibprocessMessage], bool], timeout_s: float) -> LibprocessMessage | None:
        """The first message that fits, or None if none came in time."""
        try:
            async with asyncio.timeout(timeout_s):
                while (found := next(filter(fits, self._messages), None)) is None:
                    self._arrived.clear()
                    await self._arrived.wait()
        except TimeoutError:
            return None
        self._messages.remove(found)
        return found

    def forget(self, names: Collection[str]) -> None:
        """Drop messages of these kinds: they were said before what comes now."""
        self._messages = [one for one in self._messages if one.name.rpartition(".")[2] not in names]

    def left(self) -> list[LibprocessMessage]:
        """What nobody has taken."""
        return list(self._messages)

    async def close(self) -> None:
        """Close the connections that pongs went over."""
        await self._node.close()
