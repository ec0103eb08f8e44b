"""Holds back what may leave only when the facts behind it are on disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from google.protobuf.message import Message

from tfmesos.agent.checkpoint import CheckpointStore
from tfmesos.wire import internal_pb2


class Outbox:
    """Messages about frameworks that want checkpoints leave in order, each after a flush; others at once.

    What still waits when the process ends is made again by the next agent from what it finds.
    """

    def __init__(self, store: CheckpointStore, send: Callable[[Message], None]) -> None:
        self._store = store
        self._send = send
        self._waiting: list[Message] = []
        self._group: asyncio.TaskGroup | None = None
        self._is_flushing = False

    def begin(self, group: asyncio.TaskGroup) -> None:
        """Flushes run in the group."""
        self._group = group

    def send(self, message: Message) -> None:
        """Send a message, now or soon. Never waits."""
        if not self._store.has_framework(_framework_id(message)):
            self._send(message)
            return
        self._waiting.append(message)
        if not self._is_flushing:
            assert self._group is not None, "nothing is sent before the agent is put together"
            self._is_flushing = True
            self._group.create_task(self._flush(), name="flush checkpoints")

    async def _flush(self) -> None:
        while self._waiting:
            ready, self._waiting = self._waiting, []
            await self._store.sync()
            for message in ready:
                self._send(message)
        self._is_flushing = False


def _framework_id(message: Message) -> str:
    """Which framework a message to the master is about; empty: none, or nothing that is kept."""
    match message:
        case internal_pb2.StatusUpdateMessage():
            return message.update.framework_id.value
        case internal_pb2.ExitedExecutorMessage():
            return message.framework_id.value
        case _:
            return ""
