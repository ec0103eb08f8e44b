"""The timers that a core asks for."""

import asyncio
from collections.abc import Callable
from enum import Enum
from typing import Generic, TypeVar

T = TypeVar("T", bound=Enum)


class Timers(Generic[T]):
    """Each runs at most once at a time."""

    def __init__(self, on_fired: Callable[[T], None]) -> None:
        self._on_fired = on_fired
        self._running: dict[T, asyncio.TimerHandle] = {}

    def start(self, timer: T, delay_s: float) -> None:
        """Start it anew if it runs."""
        self.stop(timer)
        self._running[timer] = asyncio.get_running_loop().call_later(delay_s, self._fire, timer)

    def stop(self, timer: T) -> None:
        """Of no effect if it does not run."""
        running = self._running.pop(timer, None)
        if running is not None:
            running.cancel()

    def stop_all(self) -> None:
        for timer in list(self._running):
            self.stop(timer)

    def _fire(self, timer: T) -> None:
        del self._running[timer]
        self._on_fired(timer)
