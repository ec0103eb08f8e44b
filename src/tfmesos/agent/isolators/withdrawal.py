"""Waits until a container lets go of devices: what is open stays open, whatever the rules say."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection

from tfmesos.cgroups import Cgroup, Device

_FIRST_PAUSE_S = 0.02
_LAST_PAUSE_S = 1.0
_WARN_AFTER_S = 10.0
_log = logging.getLogger(__name__)


async def wait_withdrawn(container: str, cgroup: Cgroup, devices: Collection[Device]) -> None:
    """Return when no process of the cgroup has one of these open; after a while the log names who has."""
    began, pause_s, warned = time.monotonic(), _FIRST_PAUSE_S, False
    while held := cgroup.holders(devices):
        if not warned and time.monotonic() - began >= _WARN_AFTER_S:
            warned = True
            who = "; ".join(f"process {pid}: {', '.join(sorted(map(str, its)))}" for pid, its in sorted(held.items()))
            _log.warning("container %s: devices that were taken from it are still open: %s", container, who)
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, _LAST_PAUSE_S)
