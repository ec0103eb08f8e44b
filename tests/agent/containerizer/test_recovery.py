"""Containers that outlive the agent."""

from __future__ import annotations

import dataclasses
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.agent.containerizer.conftest import Configure, output, touch
from tests.agent.waiting import eventually
from tfmesos.agent import AgentFlags
from tfmesos.agent.containerizer import Container, ContainerId, Containerizer, ContainerKind
from tfmesos.supervision import Supervisors
from tfmesos.wire import mesos_pb2

Restart = Callable[[], Awaitable[Containerizer]]


@pytest.fixture
async def restart(flags: AgentFlags) -> AsyncIterator[Restart]:
    """Ends the agent before, if there was one, as SIGTERM does, and starts the next."""
    async with AsyncExitStack() as running:

        async def start() -> Containerizer:
            await running.aclose()
            containerizer = Containerizer(flags, Supervisors())
            running.push_async_callback(containerizer.close)
            await containerizer.start()
            return containerizer

        yield start
        last = await start()
        await last.recover([])
        await last.close(end_detached=True)


async def _run(containerizer: Containerizer, configure: Configure, line: str, **changes: object) -> Container:
    container = await containerizer.launch(configure(line, **changes))
    await container.open_gate()
    return container


async def test_a_known_container_goes_on_and_its_end_is_told(restart: Restart, configure: Configure) -> None:
    before = await _run(
        await restart(), configure, "while [ ! -e go ]; do sleep 0.01; done; exit 7", checkpoint=True, user="me"
    )

    after = await restart()
    found = await after.recover([before.id])

    container = found[before.id]
    assert container.config == before.config
    assert (container.pid, container.main_pid) == (before.pid, before.main_pid)
    touch(container, "go")
    termination = await container.wait()
    assert termination.wait_status is not None
    assert os.waitstatus_to_exitcode(termination.wait_status) == 7


async def test_an_end_while_no_agent_ran_is_told(restart: Restart, configure: Configure) -> None:
    before = await _run(await restart(), configure, "exit 4", checkpoint=True)
    await before.wait()

    found = await (await restart()).recover([before.id])

    termination = await found[before.id].wait()
    assert termination.wait_status is not None
    assert os.waitstatus_to_exitcode(termination.wait_status) == 4
    found[before.id].kill(0)  # of no effect


async def test_a_forgotten_container_is_not_found_again(restart: Restart, configure: Configure) -> None:
    first = await restart()
    before = await _run(first, configure, "exit 4", checkpoint=True)
    await before.wait()
    first.forget(before.id)

    assert await (await restart()).recover([before.id]) == {}


@pytest.mark.parametrize(
    ("line", "fate"), [("sleep 60", "it is ended"), ("exit 4", "it had ended before, and is forgotten")]
)
async def test_orphans_are_ended(
    restart: Restart, configure: Configure, tmp_path: Path, caplog: pytest.LogCaptureFixture, line: str, fate: str
) -> None:
    before = await _run(await restart(), configure, line, checkpoint=True)
    if line.startswith("exit"):
        await before.wait()
    after = await restart()

    with caplog.at_level(logging.INFO):
        assert await after.recover([ContainerId("other")]) == {}

    await eventually(lambda: not list((tmp_path / "run" / "containers").iterdir()))
    with pytest.raises(ProcessLookupError):
        os.kill(before.main_pid or 0, 0)
    assert f"container c belongs to nothing that this agent knows: {fate}" in caplog.text


async def test_of_what_ended_with_its_agent_the_next_one_finds_nothing(
    restart: Restart, configure: Configure, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # given a container that does not outlive its agent, of which there is a record, for who attaches to it
    container = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.MESOS, tty_info=mesos_pb2.TTYInfo())
    await _run(await restart(), configure, "sleep 60", container=container)
    assert os.listdir(tmp_path / "run" / "containers") == ["c"]

    after = await restart()

    assert os.listdir(tmp_path / "run" / "containers") == []
    with caplog.at_level(logging.INFO):
        assert await after.recover([]) == {}
    assert "container c" not in caplog.text


async def test_what_is_nested_comes_back_with_its_parent(restart: Restart, configure: Configure) -> None:
    first = await restart()
    parent = await _run(first, configure, "sleep 60", checkpoint=True)
    running = await _run(first, configure, "sleep 60", name="running", parent=parent.id)
    ended = await _run(first, configure, "exit 5", name="ended", parent=parent.id)
    await ended.wait()

    after = await restart()
    found = await after.recover([parent.id])

    assert set(found) == {parent.id, running.id, ended.id}
    termination = found[ended.id].termination or await found[ended.id].wait()
    assert termination.wait_status == 5 << 8
    found[parent.id].kill(0)
    await found[parent.id].wait()
    assert found[running.id].termination is not None


async def test_standalone_containers_belong_to_nobody_and_stay(restart: Restart, configure: Configure) -> None:
    config = configure("sleep 60", checkpoint=True)
    before = await (await restart()).launch(dataclasses.replace(config, kind=ContainerKind.STANDALONE))
    await before.open_gate()

    found = await (await restart()).recover([])

    assert list(found) == [before.id]


async def test_a_container_that_waited_at_its_gate_is_reported_as_never_run(
    restart: Restart, configure: Configure
) -> None:
    first = await restart()
    before = await first.launch(configure("touch ran", checkpoint=True))

    found = await (await restart()).recover([before.id])

    termination = await found[before.id].wait()
    assert (termination.wait_status, termination.has_run) == (None, False)
    assert "ran" not in os.listdir(before.directory)


async def test_a_nested_container_that_was_never_run_can_be_launched_again(
    restart: Restart, configure: Configure
) -> None:
    first = await restart()
    parent = await _run(first, configure, "sleep 60", checkpoint=True)
    config = configure("exit 3", name="nested", parent=parent.id)
    await first.launch(config)

    after = await restart()
    found = await after.recover([parent.id])
    again = await after.launch(config)
    await again.open_gate()

    assert set(found) == {parent.id}
    assert (await again.wait()).wait_status == 3 << 8


@pytest.mark.parametrize("kind", [ContainerKind.NESTED, ContainerKind.STANDALONE])
async def test_what_a_launch_left_that_was_cut_off_is_no_obstacle_to_the_next(
    restart: Restart, configure: Configure, kind: ContainerKind
) -> None:
    # given a sandbox that an agent made before it was killed, and no record of its container
    containerizer = await restart()
    if kind is ContainerKind.NESTED:
        parent = await _run(containerizer, configure, "sleep 60", checkpoint=True)
        config = configure("ls > seen", name="again", parent=parent.id)
        left = Path(parent.directory, "containers", "again")
    else:
        config = dataclasses.replace(configure("ls > seen"), kind=kind)
        left = Path(config.directory)
    left.mkdir(parents=True)
    (left / "half").touch()

    # when the launch is asked for again, then it has a sandbox of its own
    container = await containerizer.launch(config)
    await container.open_gate()
    assert (await container.wait()).wait_status == 0
    assert "half" not in (left / "seen").read_text().split()


async def test_a_configuration_that_cannot_be_read_makes_an_orphan(
    restart: Restart, configure: Configure, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = await _run(await restart(), configure, "sleep 60", checkpoint=True)
    (tmp_path / "run" / "containers" / "c" / "config").write_text('{"format": 99}')

    after = await restart()
    assert await after.recover([]) == {}

    assert "its format is 99, this agent reads 2" in caplog.text
    await eventually(lambda: after.find(before.id) is None)
    assert output(before) == ""
