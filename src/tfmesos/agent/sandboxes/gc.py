"""Old sandboxes go: by age, and sooner when the disk fills (Mesos 1.11).

Ages are wall-clock seconds since the container ended, so that they go on over a restart of the agent.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import logging
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from tfmesos.agent.sandboxes.inner import remove_nested_sandbox
from tfmesos.agent.sandboxes.work_dir import remove_run

_LEAST_S = 60.0
"""However full the disk is, so that whoever follows the output can read the last of it."""
_log = logging.getLogger(__name__)


class Sandbox(NamedTuple):
    """A sandbox that nothing runs in any more; of a nested container its name inside `directory`."""

    ended_s: float
    directory: str
    nested: str = ""


class Schedule:
    """Which sandboxes are to go, and when. Pure."""

    def __init__(self, delay_s: float, headroom: float) -> None:
        """They are kept for `delay_s` while the disk is empty; `headroom` is the share of it to keep free."""
        self._delay_s = delay_s
        self._headroom = headroom
        self._waiting: list[Sandbox] = []
        self._least_s = min(delay_s, _LEAST_S)
        self.max_age_s = delay_s
        self.look_at_disk(0.0)

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, sandbox: Sandbox) -> None:
        heapq.heappush(self._waiting, sandbox)

    def look_at_disk(self, usage: float) -> None:
        """`usage` is the share of the disk that is used. Mesos 1.11: gc_delay × max(0, 1 − headroom − usage)."""
        self.max_age_s = max(self._delay_s * max(0.0, 1.0 - self._headroom - usage), self._least_s)

    def take_due(self, now: float) -> list[Sandbox]:
        """Those that are old enough, the oldest first; they are in the schedule no longer."""
        due = []
        while self._waiting and self._waiting[0].ended_s + self.max_age_s <= now:
            due.append(heapq.heappop(self._waiting))
        return due

    def deadline(self) -> float:
        """When the next one is old enough, if the disk does not fill."""
        return self._waiting[0].ended_s + self.max_age_s if self._waiting else float("inf")


class Collector:
    """Removes what is due, in a thread."""

    def __init__(
        self, schedule: Schedule, work_dir: str, interval_s: float, *, now: Callable[[], float] = time.time
    ) -> None:
        self.schedule = schedule
        self.succeeded = 0
        self.failed = 0
        self._work_dir = work_dir
        self._interval_s = interval_s
        self._now = now
        self._sooner = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._running = asyncio.create_task(self._run(), name="removal of sandboxes")

    def add(self, directory: str, nested: str = "") -> None:
        """Nothing runs in a sandbox from now on."""
        self._add(Sandbox(self._now(), directory, nested))

    def add_old(self, directories: Mapping[str, float]) -> None:
        """Sandboxes that an agent before has left, with the time when they changed last."""
        for directory, changed_s in directories.items():
            self._add(Sandbox(changed_s, directory))

    async def close(self) -> None:
        """Idempotent; what is being removed is removed to its end."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    def _add(self, sandbox: Sandbox) -> None:
        self.schedule.add(sandbox)
        if self.schedule.deadline() == sandbox.ended_s + self.schedule.max_age_s:
            self._sooner.set()

    async def _run(self) -> None:
        while True:
            self.schedule.look_at_disk(disk_usage(self._work_dir))
            for sandbox in self.schedule.take_due(self._now()):
                await asyncio.to_thread(self._remove, sandbox)
            self._sooner.clear()
            wait_s = min(self._interval_s, max(self.schedule.deadline() - self._now(), 0.0))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._sooner.wait()

    def _remove(self, sandbox: Sandbox) -> None:
        try:
            if sandbox.nested:
                remove_nested_sandbox(sandbox.directory, sandbox.nested)
            else:
                remove_run(Path(self._work_dir), sandbox.directory)
        except OSError as error:
            self.failed += 1
            _log.warning("sandbox %s cannot be removed: %s (%s)", sandbox.directory, error.strerror, error.filename)
        else:
            self.succeeded += 1
            _log.info("sandbox %s removed", sandbox.directory)


def disk_usage(path: str) -> float:
    """Which share of a file system is used; 0 if that cannot be told."""
    try:
        found = os.statvfs(path)
    except OSError:
        return 0.0
    return 1.0 - found.f_bavail / found.f_blocks if found.f_blocks else 0.0
