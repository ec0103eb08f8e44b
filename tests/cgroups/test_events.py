"""What the kernel tells of a cgroup of version 2, by the mechanism that also tells of memory."""

from __future__ import annotations

import asyncio
import os

import pytest

from tests.cgroups.conftest import OpenCgroups
from tests.cgroups.inside import Inside
from tfmesos.cgroups import CgroupError
from tfmesos.cgroups._events import wait_modified

pytestmark = [pytest.mark.root, pytest.mark.cgroups]


async def test_a_modified_file_is_noticed(open_cgroups: OpenCgroups) -> None:
    cgroup = open_cgroups("v2").create(("container",))
    path = f"{cgroup.parts[0].path}/cgroup.events"
    with Inside(cgroup):
        waiting = asyncio.create_task(wait_modified(path, lambda: not cgroup.pids()))
        await asyncio.sleep(0)
        assert not waiting.done()
        cgroup.kill()
        await asyncio.wait_for(waiting, 10)


async def test_what_holds_already_is_not_waited_for(open_cgroups: OpenCgroups) -> None:
    cgroup = open_cgroups("v2").create(("container",))
    await asyncio.wait_for(wait_modified(f"{cgroup.parts[0].path}/cgroup.events", lambda: True), 10)


async def test_many_waits_cost_nothing_that_is_scarce(open_cgroups: OpenCgroups) -> None:
    """inotify has 128 instances for all of root's programs."""
    cgroup = open_cgroups("v2").create(("container",))
    before = set(os.listdir("/proc/self/fd"))
    path = f"{cgroup.parts[0].path}/cgroup.events"
    waits = [asyncio.create_task(wait_modified(path, lambda: False)) for _ in range(200)]
    await asyncio.sleep(0)
    for wait in waits:
        assert not wait.done()
        wait.cancel()
    await asyncio.gather(*waits, return_exceptions=True)
    assert set(os.listdir("/proc/self/fd")) == before


async def test_a_file_that_is_not_there_is_named(open_cgroups: OpenCgroups) -> None:
    cgroup = open_cgroups("v2").create(("container",))
    with pytest.raises(CgroupError, match=r"/no\.events: No such file"):
        await wait_modified(f"{cgroup.parts[0].path}/no.events", lambda: False)
