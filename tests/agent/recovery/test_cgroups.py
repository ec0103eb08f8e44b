"""However an agent ends, and the tasks that it had: no cgroup of theirs is left."""

from __future__ import annotations

import asyncio
import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.in_test_master import PARTITION_AWARE, InTestMaster, command_task, framework
from tests.agent.test_program import lives, program, words_for
from tests.agent.waiting import eventually
from tests.cgroup_trees import cgroups_below, containers_below, pids_below
from tfmesos.wire import internal_pb2, mesos_pb2

pytestmark = pytest.mark.root


@pytest.fixture
def root() -> Iterator[str]:
    """The name of a root of cgroups, of which nothing is left in the end."""
    if os.geteuid():
        pytest.skip("only root may make cgroups")
    name = f"test-agent-{uuid.uuid4().hex[:8]}"
    yield name
    assert cgroups_below(f"{name}*") == []


DEVICES = ("--launcher=linux", "--isolation=cgroups/devices")
MORE = ("--launcher=linux", "--isolation=cgroups/devices,cgroups/pids")
NONE = ("--launcher=posix", "--isolation=posix/cpu,posix/mem")


def words(
    master: InTestMaster, work_dir: Path, root: str, *more: str, isolation: tuple[str, ...] = DEVICES
) -> list[str]:
    return words_for(master, work_dir, f"--cgroups_root={root}", *isolation, *more)


async def run_task(master: InTestMaster, *, checkpoint: bool = False) -> None:
    await master.wait_for(internal_pb2.RegisterSlaveMessage)
    master.ping()
    await master.wait_for(internal_pb2.PongSlaveMessage)
    info = framework(PARTITION_AWARE)
    info.checkpoint = checkpoint
    master.run(command_task("long", "trap '' TERM; sleep 1000 & sleep 1000"), info)
    await master.wait_for_state("long", mesos_pb2.TASK_RUNNING)


async def ended(process: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(20):
        await process.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
async def test_an_agent_that_is_asked_to_end(
    master: InTestMaster, tmp_path: Path, root: str, number: signal.Signals
) -> None:
    async with program(*words(master, tmp_path / "work", root)) as process:
        await run_task(master, checkpoint=number is signal.SIGUSR1)
        assert pids_below(root)

        process.send_signal(number)
        await ended(process)


async def test_an_agent_that_is_killed(master: InTestMaster, tmp_path: Path, root: str) -> None:
    async with program(*words(master, tmp_path / "work", root)) as process:
        await run_task(master)

        process.kill()
        await ended(process)

    await eventually(lambda: not containers_below(root))
    await clean_up(master, tmp_path, root)  # what is left is the root


async def test_tasks_that_are_not_taken_over(master: InTestMaster, tmp_path: Path, root: str) -> None:
    async with program(*words(master, tmp_path / "work", root)) as process:
        await run_task(master, checkpoint=True)
        process.kill()
        await ended(process)
    assert pids_below(root)

    await clean_up(master, tmp_path, root)


async def test_tasks_that_are_taken_over(master: InTestMaster, tmp_path: Path, root: str) -> None:
    async with program(*words(master, tmp_path / "work", root)) as process:
        await run_task(master, checkpoint=True)
        process.kill()
        await ended(process)
    before = pids_below(root)

    async with program(*words(master, tmp_path / "work", root)) as process:
        await master.wait_for(internal_pb2.ReregisterSlaveMessage)
        assert pids_below(root) == before
        process.send_signal(signal.SIGUSR1)
        await ended(process)


@pytest.mark.parametrize(("fewer", "count"), [(DEVICES, 2), (NONE, 0)], ids=["one isolator", "none"])
async def test_tasks_that_are_taken_over_by_an_agent_that_uses_fewer_cgroups(
    master: InTestMaster, tmp_path: Path, root: str, fewer: tuple[str, ...], count: int
) -> None:
    async with program(*words(master, tmp_path / "work", root, isolation=MORE)) as process:
        await run_task(master, checkpoint=True)
        process.kill()
        await ended(process)
    trees = len(containers_below(root))
    assert trees >= 2

    async with program(*words(master, tmp_path / "work", root, isolation=fewer)) as process:
        await master.wait_for(internal_pb2.ReregisterSlaveMessage)
        master.run(command_task("new", "sleep 1000"))
        await master.wait_for_state("new", mesos_pb2.TASK_RUNNING)
        assert len(containers_below(root)) == trees + count
        master.kill("long", grace_s=0)
        await master.wait_for_end("long")
        assert len(containers_below(root)) == count
        process.send_signal(signal.SIGUSR1)
        await ended(process)


async def test_tasks_whose_cgroups_are_elsewhere_are_not_given_up(
    master: InTestMaster, tmp_path: Path, root: str
) -> None:
    async with program(*words(master, tmp_path / "work", root)) as process:
        await run_task(master, checkpoint=True)
        process.kill()
        await ended(process)
    before = pids_below(root)

    other = words(master, tmp_path / "work", f"{root}-new")
    async with program(*other, stderr=asyncio.subprocess.PIPE) as process:
        assert process.stderr is not None
        told = (await process.stderr.read()).decode()
    assert f"where --cgroups_root={root} says, not --cgroups_root={root}-new: start with" in told
    assert "--recover=cleanup" in told
    assert pids_below(root) == before

    cleanup = words(master, tmp_path / "work", f"{root}-new", "--recover=cleanup", isolation=NONE)
    async with program(*cleanup) as process:
        await ended(process)
        assert process.returncode == 0
    assert [pid for pid in before if lives(str(pid))] == []


async def test_without_tasks_cgroups_may_be_elsewhere(master: InTestMaster, tmp_path: Path, root: str) -> None:
    for place in (root, f"{root}-new"):
        master.received.clear()
        async with program(*words(master, tmp_path / "work", place)) as process:
            await master.wait_for(internal_pb2.RegisterSlaveMessage)
            process.send_signal(signal.SIGUSR1)
            await ended(process)
            assert process.returncode == 0


async def clean_up(master: InTestMaster, tmp_path: Path, root: str) -> None:
    async with program(*words(master, tmp_path / "work", root, "--recover=cleanup")) as process:
        await ended(process)
        assert process.returncode == 0
