"""Work that is done to its end even if whoever waits for it is cancelled."""

from __future__ import annotations

import asyncio

import pytest

from tfmesos.agent.uninterrupted import finish


async def test_the_result_and_the_error_are_those_of_the_work() -> None:
    async def fail() -> None:
        raise LookupError("no")

    assert await finish(asyncio.sleep(0, "done")) == "done"
    with pytest.raises(LookupError, match="no"):
        await finish(fail())


async def test_who_is_cancelled_is_so_after_the_work_is_done() -> None:
    begun, go_on, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await go_on.wait()
        done.set()

    waiting = asyncio.create_task(finish(work()))
    await begun.wait()
    for _ in range(2):
        waiting.cancel()
        await asyncio.sleep(0)
    assert not waiting.done()
    go_on.set()
    await asyncio.wait([waiting])
    assert waiting.cancelled()
    assert done.is_set()
