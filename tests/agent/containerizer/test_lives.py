"""Containers from their launch to their end."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
from pathlib import Path

import pytest

from tests.agent.containerizer.conftest import Configure, output
from tests.agent.waiting import eventually
from tfmesos.agent import AgentFlags, BadAgentFlags
from tfmesos.agent.containerizer import Container, ContainerId, Containerizer, LaunchFailed
from tfmesos.agent.containerizer.tree import ContainerTree
from tfmesos.supervision import Supervisors
from tfmesos.wire import mesos_pb2


async def _run(containerizer: Containerizer, configure: Configure, line: str, **changes: object) -> Container:
    container = await containerizer.launch(configure(line, **changes))
    await container.open_gate()
    return container


async def test_a_program_runs_in_its_sandbox_and_its_end_is_told(
    containerizer: Containerizer, configure: Configure, tmp_path: Path
) -> None:
    container = await _run(containerizer, configure, "pwd; echo $MESOS_SANDBOX; exit 3")

    termination = await container.wait()

    assert termination.wait_status is not None
    assert os.waitstatus_to_exitcode(termination.wait_status) == 3
    sandbox = str(tmp_path / "runs" / "c")
    assert output(container) == f"{sandbox}\n{sandbox}\n"
    assert os.readlink(tmp_path / "runs" / "latest") == "c"
    assert container.termination == termination


async def test_what_is_nested_is_ended_first_when_its_parent_is_killed(
    containerizer: Containerizer, configure: Configure
) -> None:
    ends = "trap 'date +%s%N > end; exit' TERM; echo up; while :; do sleep 0.01; done"
    parent = await _run(containerizer, configure, ends)
    child = await _run(containerizer, configure, "echo up; sleep 60", name="n", parent=parent.id)
    grandchild = await _run(containerizer, configure, "sleep 60", name="g", parent=child.id)
    await eventually(lambda: output(parent))

    parent.kill(30)
    await parent.wait()

    assert child.termination is not None
    assert grandchild.termination is not None
    assert int(output(parent, "end")) > 0


async def test_what_is_nested_ends_with_its_parent(containerizer: Containerizer, configure: Configure) -> None:
    parent = await _run(containerizer, configure, "read line < fifo || sleep 0.1")
    child = await _run(containerizer, configure, "sleep 60", name="n", parent=parent.id)

    await parent.wait()

    assert child.termination is not None
    assert containerizer.children(parent.id) == [child]


async def test_ends_are_known_until_they_are_forgotten(containerizer: Containerizer, configure: Configure) -> None:
    parent = await _run(containerizer, configure, "sleep 60")
    child = await _run(containerizer, configure, "true", name="n", parent=parent.id)
    await child.wait()
    assert containerizer.find(child.id) is child

    parent.kill(0)
    await parent.wait()
    containerizer.forget(parent.id)

    assert list(containerizer.containers()) == []


async def test_a_signal_reaches_the_program_alone(containerizer: Containerizer, configure: Configure) -> None:
    line = "trap 'echo got' USR1; (trap 'echo child' USR1; echo up; sleep 60) & while :; do sleep 0.01; done"
    container = await _run(containerizer, configure, line)
    await eventually(lambda: "up" in output(container))

    container.signal(signal.SIGUSR1)

    await eventually(lambda: "got" in output(container))
    assert "child" not in output(container)
    container.kill(0)
    await container.wait()
    with pytest.raises(ProcessLookupError):
        container.signal(signal.SIGTERM)


async def test_a_debug_container_begins_with_the_environment_and_the_directory_of_what_it_looks_into(
    containerizer: Containerizer, configure: Configure
) -> None:
    parent = await _run(containerizer, configure, "sleep 60", environment={"SECRET": "s", "B": "1"})
    plain = await _run(containerizer, configure, "echo ${SECRET-none}", name="p", parent=parent.id)
    debug = await _run(
        containerizer,
        configure,
        "echo $SECRET $B; pwd",
        name="d",
        parent=parent.id,
        is_debug=True,
        environment={"B": "2"},
    )
    await plain.wait()
    await debug.wait()

    assert output(plain) == "none\n"
    assert output(debug) == f"s 2\n{parent.directory}\n"


@pytest.mark.parametrize("where", ["missing", "ended"])
async def test_a_parent_must_be_there(containerizer: Containerizer, configure: Configure, where: str) -> None:
    parent = ContainerId("c")
    if where == "ended":
        await (await _run(containerizer, configure, "true")).wait()

    with pytest.raises(LaunchFailed, match="does not exist" if where == "missing" else "DESTROYING"):
        await containerizer.launch(configure("true", name="n", parent=parent))


async def test_no_link_in_a_sandbox_leads_a_nested_one_elsewhere(
    containerizer: Containerizer, configure: Configure, tmp_path: Path
) -> None:
    parent = await _run(containerizer, configure, "sleep 60")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    os.symlink(elsewhere, f"{parent.directory}/containers")

    with pytest.raises(LaunchFailed, match="cannot make the sandbox"):
        await containerizer.launch(configure("true", name="n", parent=parent.id))

    assert list(elsewhere.iterdir()) == []


async def test_a_command_that_does_not_outlive_the_agent_leaves_nothing_beside_its_sandbox(
    containerizer: Containerizer, configure: Configure, tmp_path: Path
) -> None:
    await _run(containerizer, configure, "sleep 60")

    assert list((tmp_path / "run" / "containers").iterdir()) == []


async def test_what_was_kept_of_a_container_goes_with_the_last_of_those_around_it(
    containerizer: Containerizer, configure: Configure, tmp_path: Path
) -> None:
    parent = await _run(containerizer, configure, "sleep 60")
    await _run(containerizer, configure, "sleep 60", name="d", parent=parent.id, is_debug=True)
    parent.kill(0.0)
    await parent.wait()

    containerizer.forget(parent.id)

    await eventually(lambda: not list((tmp_path / "run" / "containers").iterdir()))


async def test_a_cancelled_launch_leaves_nothing(containerizer: Containerizer, configure: Configure) -> None:
    launch = asyncio.create_task(containerizer.launch(configure("sleep 60")))
    await asyncio.sleep(0)
    assert containerizer.is_launching(ContainerId("c"))

    assert containerizer.abort(ContainerId("c"))

    with pytest.raises(LaunchFailed, match="destroyed"):
        await launch
    assert list(containerizer.containers()) == []


async def test_one_agent_at_a_time_uses_a_runtime_directory(containerizer: Containerizer, flags: AgentFlags) -> None:
    with pytest.raises(BadAgentFlags, match="another agent uses"):
        await Containerizer(flags, Supervisors()).start()


async def test_logs_are_put_aside_when_they_are_large(
    flags: AgentFlags, configure: Configure, containerizer: Containerizer
) -> None:
    await containerizer.close()
    rotating = Containerizer(
        dataclasses.replace(flags, container_log_max_size=64 * 1024, container_log_max_files=2), Supervisors()
    )
    await rotating.start()
    container = await _run(
        rotating, configure, "i=0; while [ $i -lt 400 ]; do head -c 1024 /dev/zero; i=$((i+1)); done"
    )

    await container.wait()

    names = sorted(name for name in os.listdir(container.directory) if name.startswith("stdout"))
    assert names == ["stdout", "stdout.1", "stdout.2"]
    assert all(os.stat(f"{container.directory}/{name}").st_size <= 64 * 1024 for name in names)
    await rotating.close()


async def test_statistics_are_of_all_its_processes(containerizer: Containerizer, configure: Configure) -> None:
    cpus = mesos_pb2.Resource(name="cpus", type=mesos_pb2.Value.SCALAR, scalar=mesos_pb2.Value.Scalar(value=0.5))
    mem = mesos_pb2.Resource(name="mem", type=mesos_pb2.Value.SCALAR, scalar=mesos_pb2.Value.Scalar(value=32))
    container = await _run(containerizer, configure, "sleep 60 & sleep 60", resources=(cpus, mem))

    await eventually(lambda: container.statistics().processes >= 3 and container.statistics().mem_rss_bytes)
    found = container.statistics()

    assert (found.cpus_soft_limit, found.mem_soft_limit_bytes) == (0.5, 32 * 1024 * 1024)
    assert found.threads >= 3


async def test_ends_that_nobody_removes_are_not_remembered_for_ever(
    containerizer: Containerizer, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tfmesos.agent.containerizer.containerizer._MAX_REMEMBERED", 3)
    parent = await _run(containerizer, configure, "sleep 60")
    for number in range(5):
        await (await _run(containerizer, configure, "true", name=f"n{number}", parent=parent.id)).wait()

    assert {child.id.value for child in containerizer.children(parent.id)} == {"n2", "n3", "n4"}


@pytest.mark.parametrize("is_asked_for", [True, False])
async def test_sandboxes_of_nested_containers_go_first_if_that_is_asked_for(
    flags: AgentFlags, configure: Configure, containerizer: Containerizer, is_asked_for: bool
) -> None:
    await containerizer.close()
    collecting = Containerizer(
        dataclasses.replace(flags, gc_delay=0.0, gc_non_executor_container_sandboxes=is_asked_for), Supervisors()
    )
    await collecting.start()
    parent = await _run(collecting, configure, "sleep 60")
    nested = await _run(collecting, configure, "true", name="n", parent=parent.id)
    await nested.wait()

    if is_asked_for:
        await eventually(lambda: not os.listdir(f"{parent.directory}/containers"))
    assert len(collecting.collector.schedule) == 0
    assert "stdout" in os.listdir(parent.directory)
    await collecting.close()


async def test_a_launch_that_is_cancelled_as_it_succeeds_leaves_nothing_that_runs(
    containerizer: Containerizer, configure: Configure
) -> None:
    config = configure("sleep 60")
    launch = asyncio.create_task(containerizer.launch(config))
    while (container := containerizer.find(config.id)) is None:  # noqa: ASYNC110  # nothing else hits the moment
        await asyncio.sleep(0)

    assert not launch.done()
    launch.cancel()
    await asyncio.wait([launch])

    assert launch.cancelled()
    assert (await container.wait()).killed


async def test_a_launch_that_fails_while_its_parent_ends_is_no_fault() -> None:
    tree, parent = ContainerTree(), ContainerId("p")
    child = ContainerId("c", parent)

    async def fail() -> Container:
        raise LaunchFailed("no")

    launch = asyncio.create_task(fail())
    tree.begin_launch(child, launch)
    await asyncio.wait([launch])
    assert launch.exception() is not None

    ending = tree.end_children(parent)
    assert ending is not None
    waiting = asyncio.ensure_future(ending)
    await asyncio.sleep(0)
    tree.end_launch(child)
    await waiting

    assert tree.end_children(parent) is None


async def test_a_launch_that_is_aborted_again_and_again_ends_what_it_has_begun() -> None:
    tree, container_id = ContainerTree(), ContainerId("c")
    begun, may_end = asyncio.Event(), asyncio.Event()
    ended: list[str] = []

    async def fetch() -> Container:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            await may_end.wait()
            ended.append("the child")
        raise AssertionError

    launch = asyncio.create_task(fetch())
    tree.begin_launch(container_id, launch)
    await begun.wait()
    for _ in range(3):
        assert tree.abort(container_id)
        await asyncio.sleep(0)
    may_end.set()
    await asyncio.wait([launch])

    assert ended == ["the child"]
    assert not tree.abort(container_id)
