"""An event loop on which time passes faster: a recorded minute is replayed in seconds, timers kept in proportion."""

import asyncio
import selectors

SPEED = 12.0


class _QuickSelector(selectors.DefaultSelector):
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(timeout / SPEED if timeout is not None else None)


class QuickLoop(asyncio.SelectorEventLoop):
    """asyncio's own loop, but a second of its time lasts 1/SPEED seconds."""

    def __init__(self) -> None:
        super().__init__(_QuickSelector())

    def time(self) -> float:
        """The loop's time."""
        return super().time() * SPEED
