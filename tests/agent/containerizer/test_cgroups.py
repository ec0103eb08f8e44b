"""Containers in cgroups: whatever becomes of those who watch over them, nothing of them is left."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.containerizer.conftest import Configure, output
from tests.agent.waiting import eventually
from tests.cgroup_trees import cgroups_below, pids_below
from tfmesos.agent import AgentFlags
from tfmesos.agent.containerizer import Container, ContainerConfig, ContainerId, Containerizer, LaunchFailed, Parts
from tfmesos.agent.isolators import build_isolation
from tfmesos.supervision import Supervisors

pytestmark = pytest.mark.root

FORKS_AWAY = "trap '' TERM; (setsid sh -c 'trap \"\" TERM; sleep 1000 & sleep 1000' &); echo up; sleep 1000"
"""Its processes are in two sessions, and have no other trait than their cgroup when those above them are gone."""


@pytest.fixture
def flags(flags: AgentFlags) -> Iterator[AgentFlags]:
    """Of an agent whose cgroups are its own; none of them is left in the end."""
    if os.geteuid():
        pytest.skip("only root may make cgroups")
    root = f"test-containers-{uuid.uuid4().hex[:8]}"
    yield dataclasses.replace(flags, launcher="linux", isolation="cgroups/devices", cgroups_root=root)
    assert cgroups_below(root) == []


def _containers(root: str) -> list[Path]:
    return [path for path in cgroups_below(root) if path.name != root]


def _pids(root: str) -> set[int]:
    return set(pids_below(root))


async def _start(flags: AgentFlags) -> Containerizer:
    containerizer = Containerizer(
        flags, Supervisors(), Parts(isolation=build_isolation(flags, str(flags.runtime_path)))
    )
    await containerizer.start()
    return containerizer


async def _run(containerizer: Containerizer, config: ContainerConfig) -> Container:
    container = await containerizer.launch(config)
    await container.open_gate()
    return container


async def test_its_processes_are_in_its_cgroups_and_its_supervisor_is_not(
    flags: AgentFlags, configure: Configure
) -> None:
    containerizer = await _start(flags)

    container = await _run(containerizer, configure("sleep 1000 & echo up; sleep 1000"))
    await eventually(lambda: output(container))

    assert container.main_pid in _pids(flags.cgroups_root)
    assert len(_pids(flags.cgroups_root)) == 3
    assert container.pid not in _pids(flags.cgroups_root)
    await containerizer.close()


async def test_what_is_nested_ends_with_all_around_it(flags: AgentFlags, configure: Configure) -> None:
    containerizer = await _start(flags)
    parent = await _run(containerizer, configure("sleep 1000"))
    nested = await _run(containerizer, configure("sleep 1000", name="n", parent=parent.id))
    debug = await _run(containerizer, configure("sleep 1000", name="d", parent=nested.id, is_debug=True))
    assert {parent.main_pid, nested.main_pid, debug.main_pid} <= _pids(flags.cgroups_root)

    parent.kill(0.0)
    await parent.wait()

    assert _containers(flags.cgroups_root) == []
    await containerizer.close()


async def test_an_end_is_told_when_nothing_is_left_although_supervisor_and_fork_server_are_lost_at_once(
    flags: AgentFlags, configure: Configure
) -> None:
    containerizer = await _start(flags)
    container = await _run(containerizer, configure(FORKS_AWAY))
    await eventually(lambda: len(_pids(flags.cgroups_root)) == 5)

    _kill_both(container.pid)
    termination = await container.wait()

    assert termination.wait_status is None
    assert _pids(flags.cgroups_root) == set()
    await containerizer.close()


@pytest.mark.parametrize("is_kept", [False, True])
async def test_the_next_agent_ends_what_is_left_when_all_that_watched_over_it_is_lost_at_once(
    flags: AgentFlags, configure: Configure, is_kept: bool, tmp_path: Path
) -> None:
    # given an agent with a container, killed with its fork server and the supervisor at once
    agent = _Agent(flags, FORKS_AWAY, checkpoint=is_kept)
    supervisor = agent.launch()
    await eventually(lambda: len(_pids(flags.cgroups_root)) == 5)
    _kill_both(supervisor, agent.pid)
    agent.wait()
    assert len(_pids(flags.cgroups_root)) == 5
    # when the next one recovers, whether or not it knows the container
    containerizer = await _start(flags)
    found = await containerizer.recover([ContainerId("c")] if is_kept else [])
    # then nothing is left
    if is_kept:
        await found[ContainerId("c")].wait()
    assert _pids(flags.cgroups_root) == set()
    await containerizer.close(end_detached=True)


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize("first_ends", ["the inner one", "the outer one"])
async def test_an_agent_that_is_killed_and_does_not_come_back_leaves_no_cgroup(
    flags: AgentFlags, is_kept: bool, first_ends: str
) -> None:
    at_once, late = "sleep 1000", "trap 'sleep 0.3; exit' TERM; sleep 1000"
    inner, outer = (at_once, late) if first_ends == "the inner one" else (late, at_once)
    flags = dataclasses.replace(flags, recovery_timeout=0.1)
    agent = _Agent(flags, outer, nested=inner, checkpoint=is_kept)
    agent.launch()
    assert len(_pids(flags.cgroups_root)) >= 2

    os.kill(agent.pid, signal.SIGKILL)
    agent.wait()

    await eventually(lambda: _containers(flags.cgroups_root) == [])
    await (await _start(flags)).close()  # the root


async def test_what_goes_on_under_the_next_agent_is_ended_with_its_cgroups(
    flags: AgentFlags, configure: Configure
) -> None:
    first = await _start(flags)
    before = await _run(first, configure(FORKS_AWAY, checkpoint=True))
    await eventually(lambda: len(_pids(flags.cgroups_root)) == 5)
    await first.close()
    assert len(_pids(flags.cgroups_root)) == 5

    second = await _start(flags)
    found = await second.recover([before.id])
    _kill_both(before.pid)  # the fork server of the first one is there as long as that
    await found[before.id].wait()

    assert _pids(flags.cgroups_root) == set()
    await second.close(end_detached=True)


async def test_containers_of_an_agent_without_cgroups_can_have_others_nested_in_them(
    flags: AgentFlags, configure: Configure
) -> None:
    first = await _start(dataclasses.replace(flags, launcher="posix", isolation="posix/cpu,posix/mem"))
    outer = await _run(first, configure("sleep 1000", checkpoint=True))
    await first.close()

    second = await _start(flags)
    found = await second.recover([outer.id])
    nested = await _run(second, configure("exec sleep 1000", name="n", parent=outer.id))
    assert _pids(flags.cgroups_root) == {nested.main_pid}
    found[outer.id].kill(0.0)
    await found[outer.id].wait()

    assert _containers(flags.cgroups_root) == []
    await second.close(end_detached=True)


async def test_an_agent_that_ends_all_leaves_no_cgroup(flags: AgentFlags, configure: Configure) -> None:
    first = await _start(flags)
    await _run(first, configure("sleep 1000", checkpoint=True))
    await first.close()

    cleaning = await _start(flags)
    await cleaning.recover(())
    await cleaning.close(end_detached=True)


async def test_the_cgroup_of_another_agent_is_neither_taken_nor_ended(
    flags: AgentFlags, configure: Configure, tmp_path: Path
) -> None:
    other = await _start(dataclasses.replace(flags, runtime_dir=str(tmp_path / "other")))
    running = await _run(other, configure("sleep 1000"))

    containerizer = await _start(flags)
    await containerizer.recover(())
    with pytest.raises(LaunchFailed, match="exists already"):
        await containerizer.launch(configure("true"))

    assert running.main_pid in _pids(flags.cgroups_root)
    await containerizer.close()
    await other.close()


@pytest.mark.parametrize("is_recorded", [False, True])
async def test_a_cgroup_that_cannot_be_made_leaves_nothing(
    flags: AgentFlags, configure: Configure, is_recorded: bool
) -> None:
    containerizer = await _start(flags)

    with pytest.raises(LaunchFailed, match="cgroup"):
        await containerizer.launch(configure("true", name="cgroup.procs", checkpoint=is_recorded))

    assert _containers(flags.cgroups_root) == []
    assert list(containerizer.containers()) == []
    await containerizer.close()


async def test_launches_that_end_at_any_moment_leave_no_cgroup(flags: AgentFlags, configure: Configure) -> None:
    containerizer = await _start(flags)
    config = configure("sleep 1000")

    for steps in range(60):
        launch = asyncio.create_task(containerizer.launch(config))
        for _ in range(steps):
            await asyncio.sleep(0)
        launch.cancel()
        await asyncio.wait([launch])
        if (made := containerizer.find(config.id)) is not None:
            made.kill(0.0)
            await made.wait()
            containerizer.forget(config.id)
        assert _containers(flags.cgroups_root) == []

    await containerizer.close()


def _kill_both(supervisor: int, *others: int) -> None:
    """The supervisor and its fork server, without a moment between, in which one could do something for the other."""
    pids = (_parent_of(supervisor), supervisor, *others)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def _parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


_AGENT = """
import asyncio, json, sys
from tfmesos.agent import AgentFlags
from tfmesos.agent.containerizer import ContainerConfig, ContainerId, Containerizer, ContainerKind, Parts
from tfmesos.agent.isolators import build_isolation
from tfmesos.supervision import Supervisors
from tfmesos.wire import mesos_pb2

async def main(flags, line, checkpoint, nested):
    flags = AgentFlags(**flags)
    parts = Parts(isolation=build_isolation(flags, str(flags.runtime_path)))
    containerizer = Containerizer(flags, Supervisors(), parts)
    await containerizer.start()
    container = await containerizer.launch(ContainerConfig(
        id=ContainerId("c"),
        kind=ContainerKind.COMMAND_TASK,
        command=mesos_pb2.CommandInfo(value=line),
        directory=flags.work_dir + "/runs/c",
        checkpoint=checkpoint,
    ))
    await container.open_gate()
    if nested:
        inner = await containerizer.launch(ContainerConfig(
            id=ContainerId("n", container.id),
            kind=ContainerKind.NESTED,
            command=mesos_pb2.CommandInfo(value=nested),
            directory="",
        ))
        await inner.open_gate()
    print(container.pid, flush=True)
    await container.wait()

asyncio.run(main(**json.loads(sys.argv[1])))
"""


class _Agent:
    """A process with one container, and perhaps another in that."""

    def __init__(self, flags: AgentFlags, line: str, *, checkpoint: bool, nested: str = "") -> None:
        words = {"flags": dataclasses.asdict(flags), "line": line, "checkpoint": checkpoint, "nested": nested}
        self._process = subprocess.Popen([sys.executable, "-c", _AGENT, json.dumps(words)], stdout=subprocess.PIPE)
        self.pid = self._process.pid

    def launch(self) -> int:
        """Returns the supervisor's pid when the container runs."""
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())

    def wait(self) -> None:
        self._process.communicate()
