"""An end for pulls of which nothing comes any more: registries, and what is between, may just be silent."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from typing import Any, TypeVar

PATIENCE_S = 360.0
"""skopeo waits five times up to a minute when a registry says that it is asked too much."""
T = TypeVar("T")


class Stalled(Exception):
    """Nothing comes any more."""


async def while_it_grows(work: Coroutine[Any, Any, T], directory: str | None, patience_s: float) -> T:
    """The result of work that fills a directory; without one, of work that takes no longer than the patience lasts.

    Raises Stalled when the directory does not grow for so long (or up to twice as long). Whoever cancels this ends the
    work first.
    """
    task = asyncio.get_running_loop().create_task(work)
    size = -1
    try:
        while True:
            done, _ = await asyncio.wait([task], timeout=patience_s)
            if done:
                return task.result()
            before, size = size, await asyncio.to_thread(_size_of, directory)
            if size <= before or directory is None:
                raise Stalled(f"nothing comes from there for {patience_s:.0f} s")
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait([task])


def _size_of(directory: str | None) -> int:
    """Of its files, of which some may go meanwhile."""
    size = 0
    for parent, _, files in os.walk(directory) if directory is not None else ():
        for name in files:
            try:
                size += os.lstat(f"{parent}/{name}").st_size
            except FileNotFoundError:
                continue
    return size
