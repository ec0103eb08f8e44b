"""Pulls of which nothing comes any more."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tfmesos.agent.images.patience import Stalled, while_it_grows


async def test_work_that_is_done_in_time_has_its_result() -> None:
    assert await while_it_grows(asyncio.sleep(0, "done"), None, 5.0) == "done"


async def test_work_that_fills_its_directory_may_take_long(tmp_path: Path) -> None:
    async def work() -> str:
        for size in range(1, 6):
            (tmp_path / "blob").write_bytes(b"x" * size)
            await asyncio.sleep(0.15)
        return "done"

    assert await while_it_grows(work(), str(tmp_path), 0.5) == "done"


async def test_silent_work_is_ended_first_and_called_stalled(tmp_path: Path) -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()

    with pytest.raises(Stalled, match="nothing comes from there"):
        await while_it_grows(work(), str(tmp_path), 0.02)
    assert ended.is_set()


async def test_who_waits_no_longer_ends_the_work(tmp_path: Path) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        try:
            begun.set()
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()

    waiting = asyncio.create_task(while_it_grows(work(), None, 60.0))
    await begun.wait()
    waiting.cancel()
    await asyncio.wait([waiting])
    assert waiting.cancelled()
    assert ended.is_set()
