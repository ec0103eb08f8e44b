"""Work that several wait for at the same time, done once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")


@dataclass(slots=True)
class _Running(Generic[Result]):
    task: asyncio.Task[Result]
    waiting: int = 0


class SharedWork(Generic[Key, Result]):
    """One piece of work for each key; it is cancelled when nobody waits for it any more."""

    def __init__(self) -> None:
        self._running: dict[Key, _Running[Result]] = {}
        self._ending: set[asyncio.Task[Result]] = set()

    def __len__(self) -> int:
        return len(self._running)

    async def join(self, key: Key, begin: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """The result of what is under way with this key, else of what `begin` makes; or its error."""
        running = self._running.get(key)
        if running is None:
            running = self._running[key] = _Running(asyncio.ensure_future(begin()))
        running.waiting += 1
        try:
            return await asyncio.shield(running.task)
        finally:
            running.waiting -= 1
            if not running.waiting or running.task.done():
                self._leave(key, running)

    async def close(self) -> None:
        """Cancel all, and return when all has ended."""
        for key, running in list(self._running.items()):
            self._leave(key, running)
        while self._ending:
            await asyncio.wait(self._ending)

    def _leave(self, key: Key, running: _Running[Result]) -> None:
        if self._running.get(key) is running:
            del self._running[key]
        if not running.task.done():
            running.task.cancel()
            self._ending.add(running.task)
            running.task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Result]) -> None:
        self._ending.discard(task)
        if not task.cancelled():
            task.exception()  # nobody wants to know it any more
