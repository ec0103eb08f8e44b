"""What leaves the agent, and when."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.message import Message

from tests.agent.in_test_master import FRAMEWORK_ID, framework
from tfmesos.agent.checkpoint import CheckpointStore, FrameworkKept
from tfmesos.agent.recovery.outbox import Outbox
from tfmesos.wire import internal_pb2


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CheckpointStore]:
    store = CheckpointStore.open(tmp_path, is_strict=True, max_completed_frameworks=5)
    yield store
    store.close()


def update(framework_id: str = FRAMEWORK_ID, state: int = 1) -> internal_pb2.StatusUpdateMessage:
    message = internal_pb2.StatusUpdateMessage()
    message.update.framework_id.value = framework_id
    message.update.status.state = state  # type: ignore[assignment]
    return message


def exited() -> internal_pb2.ExitedExecutorMessage:
    message = internal_pb2.ExitedExecutorMessage(status=0)
    message.framework_id.value = FRAMEWORK_ID
    return message


async def test_what_needs_no_checkpoint_leaves_at_once(store: CheckpointStore) -> None:
    sent: list[Message] = []
    outbox = Outbox(store, sent.append)

    outbox.send(update("another"))
    outbox.send(internal_pb2.UpdateSlaveMessage())

    assert sent == [update("another"), internal_pb2.UpdateSlaveMessage()]


async def test_the_rest_leaves_in_order_when_the_disk_has_it(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_flush, flush = threading.Event(), os.fdatasync

    def slow(descriptor: int) -> None:
        assert may_flush.wait(20)
        flush(descriptor)

    monkeypatch.setattr(os, "fdatasync", slow)
    sent: list[Message] = []
    messages = [exited(), update(state=1), update(state=2)]
    async with asyncio.TaskGroup() as group:
        outbox = Outbox(store, sent.append)
        outbox.begin(group)
        store.keep(FrameworkKept(info=framework()))

        for message in messages:
            outbox.send(message)
        await asyncio.sleep(0)
        assert sent == []
        may_flush.set()

    assert sent == messages
