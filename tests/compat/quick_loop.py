"""An event loop on which time passes faster: a recorded minute is replayed in seconds, timers kept in proportion."""

import asyncio
import selectors
import time

SPEED = 12.0
_MOST_S = 0.05
"""How much of the loop's time an exchange over loopback takes at most: the rest is a busy machine's fault."""


class _QuickSelector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        started = time.monotonic()
        events = super().select(timeout / SPEED if timeout is not None else None)
        if events or timeout is None:
            self.now += min((time.monotonic() - started) * SPEED, _MOST_S)
        else:
            self.now += max(timeout, 0.0)
        return events


class QuickLoop(asyncio.SelectorEventLoop):
    """asyncio's own loop, but a second of its time lasts 1/SPEED seconds, and it passes only while the loop waits.

    So how fast the machine computes does not decide which timer comes before which message.
    """

    def __init__(self) -> None:
        self._quick = _QuickSelector()
        super().__init__(self._quick)

    def time(self) -> float:
        """The loop's time."""
        return self._quick.now
