"""A task group that is opened by one method of an object and closed by another."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable


class Scope:
    """Holds a TaskGroup open in a task of its own; if a task of the group fails, all end and `on_failure` is called."""

    def __init__(self, on_failure: Callable[[BaseException], None]) -> None:
        self._on_failure = on_failure
        self._holder: asyncio.Task[None] | None = None

    async def open(self) -> asyncio.TaskGroup:
        """Enter the group."""
        entered: asyncio.Future[asyncio.TaskGroup] = asyncio.get_running_loop().create_future()
        self._holder = asyncio.create_task(self._hold(entered))
        return await entered

    async def close(self) -> None:
        """Cancel what runs in the group and wait for it."""
        if self._holder is not None:
            self._holder.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.shield(self._holder)

    async def _hold(self, entered: asyncio.Future[asyncio.TaskGroup]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                entered.set_result(group)
                await asyncio.get_running_loop().create_future()
        except Exception as error:
            self._on_failure(error)
