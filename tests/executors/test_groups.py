"""Task groups end to end: our master, our agent, the default executor; statuses as recorded from stock Mesos."""

import asyncio
import os
from pathlib import Path
from signal import SIGKILL

import pytest

from tests.executors.conftest import Framework, framework_on
from tfmesos.client import AgentClient
from tfmesos.local import LocalCluster
from tfmesos.wire import mesos_pb2, scheduler_pb2

DEFAULT = mesos_pb2.ExecutorInfo.DEFAULT
Event = scheduler_pb2.Event


async def test_a_group_that_succeeds(framework: Framework, agent: AgentClient) -> None:
    executor = framework.executor("group-1", DEFAULT)
    await framework.launch_groups(executor, [framework.task("a", "echo hello"), framework.task("b", "sleep 0.1")])

    told = await framework.told(6)

    assert sorted(told[:2]) == ["a TASK_STARTING", "b TASK_STARTING"]
    assert sorted(told[2:]) == [
        "a TASK_FINISHED Command exited with status 0",
        "a TASK_RUNNING",
        "b TASK_FINISHED Command exited with status 0",
        "b TASK_RUNNING",
    ]
    failure = await framework.next_event(lambda event: event.type == Event.FAILURE)
    assert (failure.failure.executor_id.value, failure.failure.status) == ("group-1", 0)
    path = f"/frameworks/{executor.framework_id.value}/executors/group-1/runs/latest/tasks/a/stdout"
    assert await agent.read_file(path, 0, 100) == (6, b"hello\n")


async def test_a_failing_member_ends_its_group_and_no_other(framework: Framework) -> None:
    executor = framework.executor("group-1", DEFAULT)
    doomed = [framework.task("a", "exit 3"), framework.task("b", "sleep 1000")]
    await framework.launch_groups(executor, doomed, [framework.task("c", "sleep 1000")])

    seen: list[str] = []
    while "b TASK_KILLED Command terminated with signal Terminated" not in seen:
        seen += await framework.told()
    assert "a TASK_FAILED Command exited with status 3" in seen
    assert "b TASK_KILLING" in seen
    assert [text for text in seen if text.startswith("c") and "KILL" in text] == []
    await framework.client.kill(mesos_pb2.TaskID(value="c"))
    while "c TASK_KILLED Command terminated with signal Terminated" not in seen:
        seen += await framework.told()


async def test_a_member_that_ignores_sigterm_is_killed_after_the_grace(framework: Framework) -> None:
    executor = framework.executor("group-1", DEFAULT)
    stubborn = framework.task("a", "trap '' TERM; echo ready; while :; do sleep 0.05; done")
    await framework.launch_groups(executor, [stubborn])
    assert await framework.told(2) == ["a TASK_STARTING", "a TASK_RUNNING"]

    await framework.client.kill(mesos_pb2.TaskID(value="a"), grace_s=0.2)

    assert await framework.told(2) == ["a TASK_KILLING", "a TASK_KILLED Command terminated with signal Killed"]


async def test_a_member_that_cannot_be_launched_ends_its_group(framework: Framework) -> None:
    executor = framework.executor("group-1", DEFAULT)
    bad = framework.task("b", "true")
    bad.command.uris.add(value="/no/such/file")
    await framework.launch_groups(executor, [framework.task("a", "sleep 1000"), bad, framework.task("c", "sleep 1000")])

    ends: dict[str, str] = {}
    while len(ends) < 3:
        (text,) = await framework.told()
        id_, state, *_ = text.split()
        if state in ("TASK_FAILED", "TASK_KILLED"):
            ends[id_] = state
    assert ends == {"a": "TASK_KILLED", "b": "TASK_FAILED", "c": "TASK_KILLED"}


async def test_a_kill_during_the_preparation_of_a_container_ends_in_the_grace_time(framework: Framework) -> None:
    asked = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(hang, "127.0.0.1", 0) as server:
        task = framework.task("a", "true")
        task.command.uris.add(value=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/file")
        await framework.launch_groups(framework.executor("group-1", DEFAULT), [task])
        assert await framework.told() == ["a TASK_STARTING"]
        await asked.wait()

        await framework.client.kill(mesos_pb2.TaskID(value="a"), grace_s=1)

        async with asyncio.timeout(10):
            assert await framework.told() == ["a TASK_KILLING"]
            assert (await framework.told())[0].startswith("a TASK_KILLED")


async def test_a_member_is_told_what_stock_mesos_tells(framework: Framework) -> None:
    executor = framework.executor("group-1", DEFAULT)
    command = (
        'test "$MESOS_ALLOCATION_ROLE" = "*" && test -n "$MESOS_CONTAINER_IP" && '
        'test "$PWD" = "$MESOS_SANDBOX" && test -z "$MESOS_EXECUTOR_ID"'
    )
    await framework.launch_groups(executor, [framework.task("a", command)])

    assert (await framework.told(3))[-1] == "a TASK_FINISHED Command exited with status 0"


@pytest.mark.parametrize("shares", [True, False])
async def test_a_member_may_say_whether_it_shares_cgroups(framework: Framework, shares: bool) -> None:
    executor = framework.executor("group-1", DEFAULT)
    task = framework.task("a", "true")
    task.container.type = mesos_pb2.ContainerInfo.MESOS
    task.container.linux_info.share_cgroups = shares
    await framework.launch_groups(executor, [task])

    assert (await framework.told(3))[-1] == "a TASK_FINISHED Command exited with status 0"


async def test_checks_of_a_member_run_beside_it(framework: Framework) -> None:
    executor = framework.executor("group-1", DEFAULT)
    task = framework.task("a", "touch mark; sleep 1000")
    task.health_check.type = mesos_pb2.HealthCheck.COMMAND
    task.health_check.command.value = "test -e mark && exit 3"
    task.health_check.delay_seconds, task.health_check.interval_seconds = 0, 0.05
    task.health_check.grace_period_seconds, task.health_check.consecutive_failures = 0, 2
    await framework.launch_groups(executor, [task])

    assert await framework.told(6) == [
        "a TASK_STARTING",
        "a TASK_RUNNING",
        "a TASK_RUNNING unhealthy",
        "a TASK_RUNNING unhealthy",
        "a TASK_KILLING",
        "a TASK_KILLED unhealthy Command terminated with signal Terminated",
    ]


async def test_a_group_that_is_over_time_fails(framework: Framework) -> None:
    executor = framework.executor("group-1", DEFAULT)
    task = framework.task("a", "sleep 1000")
    task.max_completion_time.nanoseconds = 10**8
    await framework.launch_groups(executor, [task])

    status = None
    async with asyncio.timeout(10):
        while status is None or status.state == mesos_pb2.TASK_RUNNING or status.state == mesos_pb2.TASK_STARTING:
            status = await framework.next_status()
    assert status.state == mesos_pb2.TASK_FAILED
    assert status.reason == mesos_pb2.TaskStatus.REASON_MAX_COMPLETION_TIME_REACHED


def executor_pid(framework_id: str) -> int:
    """Of the framework's one default executor."""
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            is_it = f"MESOS_FRAMEWORK_ID={framework_id}".encode() in (directory / "environ").read_bytes()
            if is_it and b"tfmesos.executors.default" in (directory / "cmdline").read_bytes():
                return int(directory.name)
        except OSError:
            continue
    raise AssertionError("no executor runs")


async def test_a_killed_executor_takes_all_its_tasks_with_it(framework: Framework, tmp_path: Path) -> None:
    executor = framework.executor("group-1", DEFAULT)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    await framework.launch_groups(executor, [framework.task(id_, f"exec 3> {fifo}; sleep 1000") for id_ in "ab"])
    await framework.told(4)

    os.kill(executor_pid(executor.framework_id.value), SIGKILL)

    ends = [await framework.next_status() for _ in range(2)]
    assert {status.state for status in ends} == {mesos_pb2.TASK_FAILED}
    assert {status.reason for status in ends} == {mesos_pb2.TaskStatus.REASON_EXECUTOR_TERMINATED}
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        assert pipe.read() == b"", "somebody still holds the other end"


async def test_an_executor_of_a_framework_that_is_gone_ends_with_its_tasks(
    cluster: LocalCluster, agent: AgentClient
) -> None:
    async with framework_on(cluster.master) as framework:
        executor = framework.executor("group-1", DEFAULT)
        executor.shutdown_grace_period.nanoseconds = 1000 * 10**9
        await framework.launch_groups(executor, [framework.task("a", "sleep 1000")])
        while (status := await framework.next_status()).state != mesos_pb2.TASK_RUNNING:
            pass
    # The framework is torn down: the agent acknowledges nothing of it.

    async with asyncio.timeout(20):
        result = await agent.wait_container(status.container_status.container_id.parent)

    assert result is None or result.exit_status == 0
