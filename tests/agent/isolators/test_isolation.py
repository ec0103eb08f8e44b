"""Containers kept apart by real cgroups."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.agent.isolators.conftest import Build, Configure, Programs
from tests.agent.waiting import eventually
from tfmesos.agent.containerizer import ContainerConfig, ContainerId
from tfmesos.agent.isolators import OWN, Isolation, IsolationFailed, LaunchEdits, Limitation, QuietIsolator, Shares
from tfmesos.cgroups import DeviceRule
from tfmesos.resources import scalars
from tfmesos.wire import mesos_pb2

pytestmark = [pytest.mark.root, pytest.mark.cgroups]

EAT = "exec tail /dev/zero"
"""Needs memory without end."""
OPENS = "exec 9< /dev/{}"


class Recording(QuietIsolator):
    """Writes down what it is asked, and gives and takes a device."""

    name = "posix/gpus"

    def __init__(self, rule: DeviceRule) -> None:
        self.asked: list[str] = []
        self.rule = rule

    async def prepare(self, config: ContainerConfig, shares: Shares) -> LaunchEdits:
        return await self.update(config.id, shares)

    async def update(self, container_id: ContainerId, shares: Shares) -> LaunchEdits:
        has = any(share.scalar("gpus") for share in shares.values())
        self.asked.append(f"has {has}")
        return LaunchEdits(devices=(self.rule,)) if has else LaunchEdits(withdrawn=(self.rule,))

    async def settle(self, container_id: ContainerId) -> None:
        self.asked.append("settle")

    async def cleanup(self, container_id: ContainerId) -> None:
        self.asked.append("cleanup")


@pytest.fixture
def limitations() -> asyncio.Queue[tuple[ContainerId, Limitation]]:
    return asyncio.Queue()


def read(procs_files: tuple[str, ...], name: str) -> str:
    """What a file beside one of these says."""
    (path,) = (path for file in procs_files if (path := Path(file).with_name(name)).exists())
    return path.read_text().strip()


def exists(path: str) -> bool:
    return os.path.exists(path)


async def start(isolation: Isolation, config: ContainerConfig) -> tuple[str, ...]:
    prepared = await isolation.prepare(config)
    await isolation.isolate(config.id, 1)
    return prepared.procs_files


async def test_a_container_opens_what_all_need_and_what_the_operator_allows_and_nothing_else(
    build: Build, configure: Configure, programs: Programs
) -> None:
    allowed = '{"allowed_devices": [{"device": {"path": "/dev/fuse"}, "access": {"read": true}}]}'
    isolation = build("cgroups/devices", allowed_devices=allowed)
    config = configure()

    files = await start(isolation, config)

    assert programs.run(files, OPENS.format("urandom")) == 0
    assert programs.run(files, OPENS.format("fuse")) == 0
    assert programs.run(files, "exec 9> /dev/fuse") != 0  # it may be read only
    assert programs.run(files, OPENS.format("loop-control")) != 0
    await isolation.cleanup(config.id)


async def test_a_container_that_needs_more_memory_than_it_has_is_told_of_with_what_it_used_and_its_limit(
    build: Build,
    configure: Configure,
    programs: Programs,
    limitations: asyncio.Queue[tuple[ContainerId, Limitation]],
) -> None:
    isolation = build("cgroups/mem")
    isolation.listen(lambda *told: limitations.put_nowait(told))
    config = configure()
    files = await start(isolation, config)

    programs.start(files, EAT)
    container_id, limitation = await asyncio.wait_for(limitations.get(), 20)

    assert container_id == config.id
    assert limitation.message.startswith("Memory limit exceeded: Requested: 64MB Maximum Used: 64MB\n\nMEMORY STAT")
    assert limitation.reason == mesos_pb2.TaskStatus.REASON_CONTAINER_LIMITATION_MEMORY
    (used,) = limitation.resources
    assert (used.name, used.scalar.value) == ("mem", 64.0)
    assert await isolation.cleanup(config.id) == limitation


async def test_the_end_of_a_container_tells_what_limit_it_has_passed_though_nobody_listened_in_time(
    build: Build, configure: Configure, programs: Programs
) -> None:
    isolation = build("cgroups/mem")
    config = configure()
    prepared = await isolation.prepare(config)  # never watched

    programs.run(prepared.procs_files, EAT)

    limitation = await isolation.cleanup(config.id)
    assert limitation is not None
    assert "Memory limit exceeded" in limitation.message
    assert await isolation.cleanup(config.id) is None


async def test_the_limit_of_memory_is_raised_for_more_tasks_and_stays_when_they_are_gone(
    build: Build, configure: Configure
) -> None:
    isolation = build("cgroups/mem")
    config = configure()
    await start(isolation, config)
    own = scalars(mem=64)

    await isolation.update(config.id, {OWN: own, "task": scalars(mem=64)})
    await isolation.update(config.id, {OWN: own})

    usage = mesos_pb2.ResourceStatistics()
    isolation.fill_usage(config.id, usage)
    assert usage.mem_limit_bytes == 128 * 1024**2
    await isolation.cleanup(config.id)


async def test_a_container_without_memory_of_its_own_is_not_made_and_nothing_of_it_is_left(
    build: Build, configure: Configure
) -> None:
    isolation = build("cgroups/mem")
    config = configure(resources={"cpus": 1})

    with pytest.raises(IsolationFailed, match="No memory resource given"):
        await isolation.prepare(config)


async def test_processors_are_weighed_and_with_a_quota_counted(
    build: Build, configure: Configure, programs: Programs
) -> None:
    isolation = build("cgroups/cpu", cgroups_enable_cfs=True)
    config = configure()
    files = await start(isolation, config)

    programs.run(files, "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done")

    assert read(files, "cpu.shares") == "512"
    assert read(files, "cpu.cfs_quota_us") == "50000"
    usage = mesos_pb2.ResourceStatistics(cpus_soft_limit=0.5)
    isolation.fill_usage(config.id, usage)
    assert usage.cpus_user_time_secs > 0
    assert usage.cpus_limit == 0.5
    assert usage.cpus_nr_periods > 0
    await isolation.cleanup(config.id)


async def test_a_container_gets_a_device_with_a_task_and_loses_it_when_no_process_holds_it_open(
    build: Build, configure: Configure, programs: Programs
) -> None:
    recording = Recording(DeviceRule.parse("c 10:229 rw"))  # /dev/fuse
    isolation = build("cgroups/devices,posix/gpus", [recording])
    config = configure()
    files = await start(isolation, config)
    assert programs.run(files, OPENS.format("fuse")) != 0

    await isolation.update(config.id, {"task": scalars(gpus=1)})
    assert programs.run(files, OPENS.format("fuse")) == 0
    held = f"{config.directory}/held"
    holder = programs.start(files, f"exec 9< /dev/fuse; echo > {held}; exec sleep 100")
    await eventually(lambda: exists(held))
    shrinking = asyncio.ensure_future(isolation.update(config.id, {}))
    await asyncio.wait([shrinking], timeout=0.1)
    assert not shrinking.done()
    assert programs.run(files, OPENS.format("fuse")) != 0
    holder.kill()
    await shrinking

    assert recording.asked == ["has False", "has True", "settle", "has False", "settle"]
    await isolation.cleanup(config.id)


async def test_no_rules_bind_the_client_of_an_engine_that_has_the_container(
    build: Build, configure: Configure, programs: Programs
) -> None:
    recording = Recording(DeviceRule.parse("c 10:229 rw"))
    recording.serves_docker = True
    isolation = build("cgroups/devices,posix/gpus", [recording])
    config = configure(resources={"cpus": 0.5, "mem": 64.0, "gpus": 1})
    assert config.container is not None
    config.container.type = mesos_pb2.ContainerInfo.DOCKER

    files = await start(isolation, config)

    assert recording.asked == ["has True"]
    assert programs.run(files, OPENS.format("null")) == 0
    await isolation.cleanup(config.id)


async def test_a_nested_container_with_resources_has_rules_of_its_own_and_shares_the_memory_around_it(
    build: Build, configure: Configure, programs: Programs
) -> None:
    recording = Recording(DeviceRule.parse("c 10:229 rw"))
    isolation = build("cgroups/devices,cgroups/mem,posix/gpus", [recording])
    outer = configure("outer", resources={"mem": 64, "gpus": 1})
    files = await start(isolation, outer)
    one = configure("one", outer.id, {"mem": 32})
    other = configure("other", outer.id, {"mem": 32, "gpus": 1})
    debug = configure("debug", outer.id, {}, is_debug=True)

    one_files, other_files = await start(isolation, one), await start(isolation, other)
    debug_files = await start(isolation, debug)

    assert programs.run(one_files, OPENS.format("fuse")) != 0
    assert programs.run(other_files, OPENS.format("fuse")) == 0
    assert programs.run(debug_files, OPENS.format("fuse")) == 0
    memory = [file for file in files if "/memory/" in file]
    assert memory == [file for file in one_files if "/memory/" in file]
    assert memory == [file for file in debug_files if "/memory/" in file]
    for config in (debug, other, one, outer):
        await isolation.cleanup(config.id)


async def test_a_nested_container_that_does_not_share_has_a_limit_of_its_own(
    build: Build,
    configure: Configure,
    programs: Programs,
    limitations: asyncio.Queue[tuple[ContainerId, Limitation]],
) -> None:
    isolation = build("cgroups/mem,cgroups/pids")
    isolation.listen(lambda *told: limitations.put_nowait(told))
    outer = configure("outer", resources={"mem": 128})
    await start(isolation, outer)
    inner = configure("inner", outer.id, {"mem": 32}, shares_cgroups=False)
    files = await start(isolation, inner)

    programs.start(files, EAT)
    container_id, limitation = await asyncio.wait_for(limitations.get(), 20)

    assert container_id == inner.id
    assert "Requested: 32MB" in limitation.message
    assert await isolation.cleanup(inner.id) == limitation
    assert await isolation.cleanup(outer.id) is None


async def test_the_next_agent_takes_up_containers_with_their_limits_and_removes_cgroups_without_one(
    build: Build,
    configure: Configure,
    programs: Programs,
    limitations: asyncio.Queue[tuple[ContainerId, Limitation]],
) -> None:
    before = build("cgroups/mem")
    known, orphan, lost = configure("known"), configure("orphan"), configure("lost")
    files = {config.id: await start(before, config) for config in (known, orphan, lost)}
    await before.close()

    after = build("cgroups/mem")
    after.listen(lambda *told: limitations.put_nowait(told))
    forgotten = programs.start(files[lost.id], "exec sleep 100")
    await after.recover({known.id: known}, {orphan.id})

    assert forgotten.wait(timeout=10) != 0
    assert not exists(files[lost.id][0])
    assert exists(files[orphan.id][0])
    programs.start(files[known.id], EAT)
    container_id, _ = await asyncio.wait_for(limitations.get(), 20)
    assert container_id == known.id
    for config in (known, orphan):
        await after.cleanup(config.id)


async def test_what_a_launch_that_failed_has_begun_is_undone(build: Build, configure: Configure) -> None:
    class Failing(Recording):
        async def prepare(self, config: ContainerConfig, shares: Shares) -> LaunchEdits:
            raise IsolationFailed("no")

    failing = Failing(DeviceRule.parse("c 10:229 rw"))
    isolation = build("cgroups/all,gpu/nvidia", [])
    isolation = Isolation([*isolation._isolators, failing], isolation._cgroups)

    with pytest.raises(IsolationFailed):
        await isolation.prepare(configure())

    assert failing.asked == ["cleanup"]


async def test_agents_with_the_same_root_leave_each_others_cgroups_alone(
    build: Build, configure: Configure, programs: Programs
) -> None:
    mine, others = build("cgroups/pids"), build("cgroups/pids", owner="another")
    config = configure()
    files = await start(others, config)
    running = programs.start(files, "exec sleep 100")

    await mine.recover({}, set())
    with pytest.raises(IsolationFailed, match="exists already"):
        await mine.prepare(config)
    await mine.cleanup(config.id)

    assert running.poll() is None
    assert exists(files[0])
    await others.cleanup(config.id)
    assert running.wait(timeout=10) != 0


async def test_a_container_of_an_agent_that_isolated_less_goes_on_as_it_was(build: Build, configure: Configure) -> None:
    before = build("posix/cpu")
    config = configure()
    await start(before, config)
    await before.close()

    after = build("cgroups/cpu,cgroups/mem,cgroups/devices")
    await after.recover({config.id: config}, set())
    await after.update(config.id, {OWN: scalars(cpus=1, mem=64)})

    usage = mesos_pb2.ResourceStatistics()
    after.fill_usage(config.id, usage)
    assert not usage.HasField("mem_limit_bytes")
    assert await after.cleanup(config.id) is None
