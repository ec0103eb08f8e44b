"""The master's clock."""

import asyncio
import time


class Clock:
    """Seconds since the epoch that never step back: the wall clock at the start plus what the loop counted since."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._offset_s = time.time() - self._loop.time()

    def now(self) -> float:
        """The time."""
        return self._offset_s + self._loop.time()
