"""What an agent finds and does not go on with."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from tfmesos.agent.containerizer.container import Container
from tfmesos.agent.containerizer.identifiers import ContainerId

_SAY_AGAIN_S = 10.0
_log = logging.getLogger(__name__)


class Orphans:
    """Each is ended, unless it has ended before, with all that is nested in it, and forgotten."""

    def __init__(self, forget: Callable[[ContainerId], None]) -> None:
        self._forget = forget
        self._ending: set[asyncio.Task[None]] = set()

    def end(self, container: Container) -> None:
        """At once, in the background."""
        fate = "is ended" if container.pid else "had ended before, and is forgotten"
        _log.info("container %s belongs to nothing that this agent knows: it %s", container.id, fate)
        ending = asyncio.get_running_loop().create_task(self._end(container), name=f"end of orphan {container.id}")
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def wait_gone(self) -> None:
        """Until nothing of them is left, however long that lasts; a log tells who is waited for."""
        while self._ending:
            await asyncio.wait(self._ending, timeout=_SAY_AGAIN_S)
            for ending in self._ending:
                _log.warning("%s: this agent goes on when nothing of it is left", ending.get_name())

    async def close(self) -> None:
        """Return when none is being ended; those that go on without this agent are left to the next one."""
        await asyncio.gather(*self._ending, return_exceptions=True)

    async def _end(self, container: Container) -> None:
        container.kill(0.0)
        await container.wait()
        self._forget(container.id)
