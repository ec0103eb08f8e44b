"""Work that is done to its end even if whoever waits for it is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def finish(work: Coroutine[Any, Any, T]) -> T:
    """Await it to its end, however often this task is cancelled meanwhile; raises CancelledError then, after that."""
    task = asyncio.get_running_loop().create_task(work)
    is_cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            is_cancelled = True
        except Exception:
            break  # the task's own
    result = task.result()
    if is_cancelled:
        raise asyncio.CancelledError
    return result
