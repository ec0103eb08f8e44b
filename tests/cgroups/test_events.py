"""What the kernel tells of a cgroup of version 2, by the mechanism that also tells of memory."""

from __future__ import annotations

import asyncio

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
        assert await asyncio.wait_for(waiting, 10) is True


async def test_a_removed_cgroup_ends_the_wait(open_cgroups: OpenCgroups) -> None:
    cgroup = open_cgroups("v2").create(("container",))
    path = f"{cgroup.parts[0].path}/cgroup.events"
    waiting = asyncio.create_task(wait_modified(path, lambda: False))
    await asyncio.sleep(0)
    await cgroup.destroy(10)
    assert await asyncio.wait_for(waiting, 10) is False


async def test_a_file_that_is_not_there_is_named(open_cgroups: OpenCgroups) -> None:
    cgroup = open_cgroups("v2").create(("container",))
    with pytest.raises(CgroupError, match=r"/no\.events: No such file"):
        await wait_modified(f"{cgroup.parts[0].path}/no.events", lambda: False)
