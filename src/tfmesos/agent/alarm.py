"""One timer for a core that knows its next deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Alarm:
    """Calls `ring` when `deadline()` has come. Call `update` after anything that may have changed the deadline."""

    def __init__(self, deadline: Callable[[], float | None], ring: Callable[[float], None]) -> None:
        self._deadline = deadline
        self._ring = ring
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def update(self) -> None:
        """Arm the timer if the deadline comes before it; a timer that rings too early just arms itself again."""
        deadline = self._deadline()
        if deadline is None or (self._timer is not None and self._timer.when() <= deadline):
            return
        self.close()
        self._timer = self._loop.call_at(deadline, self._rung)

    def close(self) -> None:
        """Ring no more until the next `update`."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _rung(self) -> None:
        self._timer = None
        deadline, now = self._deadline(), self._loop.time()
        if deadline is not None and deadline <= now:
            self._ring(now)
        self.update()
