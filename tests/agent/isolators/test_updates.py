"""Containers that end while they are being updated."""

from __future__ import annotations

import asyncio

from tfmesos.agent.containerizer import ContainerId
from tfmesos.agent.isolators import Isolation, LaunchEdits, QuietIsolator, Shares

CONTAINER = ContainerId("c")


class Waiting(QuietIsolator):
    """Waits for what never comes; `told` is what it was asked, in order."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.is_asked = asyncio.Event()

    async def update(self, container_id: ContainerId, shares: Shares) -> LaunchEdits:
        self.is_asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.told.append("update is over")
        return LaunchEdits()

    async def cleanup(self, container_id: ContainerId) -> None:
        self.told.append("cleanup")


async def test_the_end_of_a_container_waits_for_no_update_of_it() -> None:
    waiting = Waiting()
    isolation = Isolation([waiting])
    update = asyncio.ensure_future(isolation.update(CONTAINER, {}))
    await waiting.is_asked.wait()

    await isolation.cleanup(CONTAINER)

    assert await update is False
    assert waiting.told == ["update is over", "cleanup"]


async def test_whoever_asks_for_an_update_may_go_and_ask_for_another_one() -> None:
    waiting = Waiting()
    isolation = Isolation([waiting])
    update = asyncio.ensure_future(isolation.update(CONTAINER, {}))
    await waiting.is_asked.wait()

    update.cancel()
    await asyncio.wait([update])

    assert update.cancelled()
    waiting.is_asked.clear()
    again = asyncio.ensure_future(isolation.update(CONTAINER, {}))
    await waiting.is_asked.wait()
    await isolation.cleanup(CONTAINER)
    assert await again is False
