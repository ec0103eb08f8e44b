"""Events on their way from the stream to the user."""

import asyncio
from collections import deque
from typing import Generic, TypeVar

from tfmesos.client.errors import ClientError

E = TypeVar("E")
_WAITING_EVENTS = 1000


class Inbox(Generic[E]):
    """Events on their way to the user. The reader stops above a limit, so that the master waits, not our memory."""

    def __init__(self) -> None:
        self._events: deque[E] = deque()
        self._arrived = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self.is_finished = False
        self._error: ClientError | None = None

    @property
    def is_full(self) -> bool:
        return not self._room.is_set()

    def put(self, event: E) -> None:
        self._events.append(event)
        if len(self._events) >= _WAITING_EVENTS:
            self._room.clear()
        self._arrived.set()

    def finish(self, error: ClientError | None) -> None:
        self.is_finished = True
        self._error = error
        self._room.set()
        self._arrived.set()

    async def wait_room(self) -> None:
        await self._room.wait()

    async def get(self) -> E:
        """The next event; StopAsyncIteration or the error after the last one."""
        while not self._events:
            if self._error is not None:
                raise self._error
            if self.is_finished:
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        event = self._events.popleft()
        if len(self._events) < _WAITING_EVENTS // 2:
            self._room.set()
        return event
