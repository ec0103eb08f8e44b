"""Waiting for what lies outside this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def eventually(check: Callable[[], T]) -> T:
    """The first true answer of a check."""
    async with asyncio.timeout(30):
        while not (answer := check()):  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        return answer
