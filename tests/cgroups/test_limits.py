"""Memory, processor time and numbers of processes: version 1 at the kernel, version 2 at its files."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

import pytest

from tests.cgroups.conftest import OpenCgroups
from tests.cgroups.inside import Inside
from tfmesos.cgroups import Cgroup, CgroupError, CpuUsage, MemoryUsage
from tfmesos.cgroups._part import Part

MB = 2**20


@pytest.fixture
def limited(open_cgroups: OpenCgroups) -> Cgroup:
    return open_cgroups("v1", "memory", "cpu", "cpuacct").create(("container",))


@pytest.fixture
def faked(tmp_path: Path) -> Cgroup:
    """Files as version 2 has them (kernel: cgroup-v2.rst)."""
    for name, text in {
        "memory.max": "max",
        "memory.low": "0",
        "memory.swap.max": "max",
        "memory.current": "4096",
        "memory.stat": "anon 1000\nfile 2000\nfile_mapped 500\nunevictable 7\npgfault 9",
        "memory.events": "low 0\nhigh 0\nmax 3\noom 5\noom_kill 5",
        "memory.events.local": "low 0\nhigh 0\nmax 3\noom 0\noom_kill 0",
        "cpu.max": "max 100000",
        "cpu.weight": "100",
        "cpu.stat": "usage_usec 3000000\nuser_usec 2000000\nsystem_usec 1000000\n",
    }.items():
        (tmp_path / name).write_text(f"{text}\n")
    every = frozenset({"memory", "cpu"})
    part = Part(path=str(tmp_path), version=2, controllers=every, to_enable=every, is_nested=False)
    return Cgroup(("faked",), (part,))


@pytest.mark.root
@pytest.mark.cgroups
class TestMemoryV1:
    def test_limits_go_up_and_down(self, limited: Cgroup) -> None:
        memory = limited.memory
        assert memory.limit() is None
        for size in (64 * MB, 32 * MB, 128 * MB):
            memory.set_limit(size, with_swap=os.path.exists(f"{limited.parts[0].path}/memory.memsw.limit_in_bytes"))
            memory.set_soft_limit(size)
            assert memory.limit() == size
            assert int(Path(limited.parts[0].path, "memory.soft_limit_in_bytes").read_text()) == size
        memory.set_limit(None, with_swap=os.path.exists(f"{limited.parts[0].path}/memory.memsw.limit_in_bytes"))
        assert memory.limit() is None

    def test_usage_is_counted(self, limited: Cgroup) -> None:
        with Inside(limited) as inside:
            inside.ask("eat", 20 * MB)
            usage = limited.memory.usage()
        assert usage.total > 20 * MB
        assert usage.maximum is not None
        assert usage.maximum >= usage.total
        assert usage.anonymous is not None
        assert 20 * MB < usage.anonymous < 60 * MB

    async def test_running_out_of_memory_is_told(self, limited: Cgroup) -> None:
        limited.memory.set_limit(32 * MB, with_swap=True)
        told = asyncio.create_task(limited.memory.wait_oom())
        with Inside(limited) as inside:
            assert not limited.memory.has_run_out()
            inside.send([("eat", 200 * MB)])
            assert await asyncio.wait_for(told, 10) is True
            assert inside.wait() == -9
        assert limited.memory.has_run_out()
        maximum = limited.memory.usage().maximum
        assert maximum is not None
        assert 31 * MB < maximum <= 32 * MB

    async def test_what_was_before_is_told_at_once(self, limited: Cgroup) -> None:
        limited.memory.set_limit(32 * MB, with_swap=True)
        with Inside(limited) as inside:
            inside.send([("eat", 200 * MB)])
            inside.wait()
        assert await asyncio.wait_for(limited.memory.wait_oom(), 10) is True

    async def test_what_is_nested_counts_for_the_limit_above_it(self, open_cgroups: OpenCgroups) -> None:
        cgroups = open_cgroups("v1", "memory")
        parent = cgroups.create(("parent",))
        parent.memory.set_limit(32 * MB, with_swap=True)
        told = asyncio.create_task(parent.memory.wait_oom())
        with Inside(cgroups.create(("parent", "child"))) as inside:
            await asyncio.sleep(0)
            inside.send([("eat", 200 * MB)])
            inside.wait()
        assert await asyncio.wait_for(told, 10) is True

    async def test_a_limit_of_what_is_nested_is_its_own(self, open_cgroups: OpenCgroups) -> None:
        cgroups = open_cgroups("v1", "memory")
        parent, child = cgroups.create(("parent",)), cgroups.create(("parent", "child"))
        parent.memory.set_limit(200 * MB, with_swap=True)
        child.memory.set_limit(32 * MB, with_swap=True)
        told = asyncio.create_task(parent.memory.wait_oom())
        with Inside(child) as inside:
            inside.send([("eat", 100 * MB)])
            assert await asyncio.wait_for(child.memory.wait_oom(), 10) is True
            inside.wait()
        assert child.memory.has_run_out()
        assert not parent.memory.has_run_out()
        assert not told.done()
        told.cancel()

    async def test_waiting_ends_with_the_cgroup(self, limited: Cgroup) -> None:
        waiting = asyncio.create_task(limited.memory.wait_oom())
        await asyncio.sleep(0)
        await limited.destroy(10)
        assert await asyncio.wait_for(waiting, 10) is False

    async def test_waiting_can_be_cancelled(self, limited: Cgroup) -> None:
        before = set(os.listdir("/proc/self/fd"))
        waiting = asyncio.create_task(limited.memory.wait_oom())
        await asyncio.sleep(0)
        waiting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await waiting
        assert set(os.listdir("/proc/self/fd")) == before

    async def test_a_cgroup_that_is_gone_is_named(self, limited: Cgroup) -> None:
        await limited.destroy(1)
        with pytest.raises(CgroupError, match="/container"):
            await limited.memory.wait_oom()
        with pytest.raises(CgroupError, match="/container"):
            limited.memory.set_limit(1)


@pytest.mark.root
@pytest.mark.cgroups
class TestCpuV1:
    def test_shares_are_at_least_2(self, limited: Cgroup) -> None:
        file = Path(next(part.path for part in limited.parts if "cpu" in part.controllers), "cpu.shares")
        for shares in (1, 0, 512):
            limited.cpu.set_shares(shares)
            assert int(file.read_text()) == max(shares, 2)

    def test_a_quota_throttles_and_time_is_counted(self, limited: Cgroup) -> None:
        limited.cpu.set_quota(0.2)
        with Inside(limited) as inside:
            inside.ask("spin", 0.1)
        usage = limited.cpu.usage()
        assert usage.user_s is not None
        assert usage.system_s is not None
        assert usage.user_s + usage.system_s > 0.08
        assert usage.throttled is not None
        assert usage.throttled > 0
        assert usage.throttled_s is not None
        assert usage.throttled_s > 0
        limited.cpu.set_quota(None)

    def test_time_is_not_told_where_it_is_not_counted(self, open_cgroups: OpenCgroups) -> None:
        usage = open_cgroups("v1", "cpu").create(("container",)).cpu.usage()
        assert usage.user_s is None
        assert usage.periods == 0


class TestVersion2:
    def test_limits_of_memory(self, faked: Cgroup, tmp_path: Path) -> None:
        memory = faked.memory
        assert memory.limit() is None
        memory.set_soft_limit(32 * MB)
        memory.set_limit(64 * MB)
        assert memory.limit() == 64 * MB
        assert (tmp_path / "memory.low").read_text().startswith(str(32 * MB))
        assert (tmp_path / "memory.swap.max").read_text() == "max\n"
        memory.set_limit(64 * MB, with_swap=True)
        assert (tmp_path / "memory.swap.max").read_text().startswith("0")

    def test_usage_of_memory(self, faked: Cgroup, tmp_path: Path) -> None:
        told = {"total": 4096, "anonymous": 1000, "file": 2000, "mapped": 500, "unevictable": 7}
        assert faked.memory.usage() == MemoryUsage(**told, maximum=None, swap=None)
        (tmp_path / "memory.peak").write_text("8192\n")
        (tmp_path / "memory.swap.current").write_text("0\n")
        assert faked.memory.usage() == MemoryUsage(**told, maximum=8192, swap=0)

    async def test_running_out_of_memory_is_told(self, faked: Cgroup, tmp_path: Path) -> None:
        """By this cgroup's own events; those below had some."""
        assert not faked.memory.has_run_out()
        with pytest.raises(CgroupError, match=r"Cannot watch .*/memory\.events\.local"):  # it tells of no changes
            await faked.memory.wait_oom()
        (tmp_path / "memory.events.local").write_text("low 0\noom 1\noom_kill 1\n")
        assert faked.memory.has_run_out()

    @pytest.mark.parametrize(("shares", "weight"), [(0, 1), (2, 1), (1024, 39), (262144, 10000), (10**6, 10000)])
    def test_shares_become_a_weight(self, faked: Cgroup, tmp_path: Path, shares: int, weight: int) -> None:
        (tmp_path / "cpu.weight").write_text("")
        faked.cpu.set_shares(shares)
        assert int((tmp_path / "cpu.weight").read_text()) == weight

    @pytest.mark.parametrize(("cpus", "line"), [(1.5, "150000 100000"), (0.001, "1000 100000"), (None, "max 100000")])
    def test_quota(self, faked: Cgroup, tmp_path: Path, cpus: float | None, line: str) -> None:
        (tmp_path / "cpu.max").write_text("")
        faked.cpu.set_quota(cpus)
        assert (tmp_path / "cpu.max").read_text() == line

    def test_used_time(self, faked: Cgroup, tmp_path: Path) -> None:
        nothing = CpuUsage(user_s=2.0, system_s=1.0, periods=None, throttled=None, throttled_s=None)
        assert faked.cpu.usage() == nothing
        with (tmp_path / "cpu.stat").open("a") as file:
            file.write("nr_periods 10\nnr_throttled 2\nthrottled_usec 500000\n")
        assert faked.cpu.usage() == CpuUsage(user_s=2.0, system_s=1.0, periods=10, throttled=2, throttled_s=0.5)

    def test_what_is_no_number_is_named(self, faked: Cgroup, tmp_path: Path) -> None:
        (tmp_path / "memory.max").write_text("many\n")
        with pytest.raises(CgroupError, match=r"memory\.max: expecting a number, found 'many'"):
            faked.memory.limit()
