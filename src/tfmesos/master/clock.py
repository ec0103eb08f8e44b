"""The master's clock."""

import asyncio
import time


class Clock:
    """Seconds since the epoch that never step back: the wall clock at the start plus what the loop counted since."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._offset_s = time.time() - loop.time()

    def now(self) -> float:
        """The time."""
        return self._offset_s + self._loop.time()
