"""The master's clock."""

import time


class Clock:
    """Seconds since the epoch that never step back: the wall clock at the start plus what passed since."""

    def __init__(self) -> None:
        self._offset_s = time.time() - time.monotonic()

    def now(self) -> float:
        """The time."""
        return self._offset_s + time.monotonic()
