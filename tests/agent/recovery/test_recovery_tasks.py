"""Tasks of a framework that wants checkpoints, over a restart of their agent."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.agent.conftest import running_agent
from tests.agent.in_test_master import (
    AGENT_ID,
    PARTITION_AWARE,
    FixedDetector,
    InTestMaster,
    command_task,
    framework,
)
from tests.agent.waiting import eventually
from tfmesos.agent import Agent, AgentFlags
from tfmesos.wire import internal_pb2, mesos_pb2
from tfmesos.wire.text import TERMINAL_STATES

_Status = mesos_pb2.TaskStatus


@pytest.fixture(autouse=True)
async def nothing_left(flags: AgentFlags, master: InTestMaster) -> AsyncIterator[None]:
    """What the last agent has left to the next one ends with the test."""
    yield
    await clean_up(flags, master)


async def clean_up(flags: AgentFlags, master: InTestMaster) -> None:
    cleaner = Agent(dataclasses.replace(flags, recover="cleanup"), detector=FixedDetector(master.leader))
    await cleaner.start()
    await cleaner.wait_stopped()
    await cleaner.close()


def checkpointed() -> mesos_pb2.FrameworkInfo:
    info = framework(PARTITION_AWARE)
    info.checkpoint = True
    return info


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@asynccontextmanager
async def working_agent(
    flags: AgentFlags, master: InTestMaster, task: mesos_pb2.TaskInfo, info: mesos_pb2.FrameworkInfo | None = None
) -> AsyncIterator[Agent]:
    """A registered agent on which the task runs."""
    async with running_agent(flags, master) as agent:
        await master.wait_for(internal_pb2.RegisterSlaveMessage)
        master.ping()
        await master.wait_for(internal_pb2.PongSlaveMessage)
        master.run(task, info or checkpointed())
        await master.wait_for_state(task.task_id.value, mesos_pb2.TASK_RUNNING)
        yield agent


async def reregistered(master: InTestMaster) -> internal_pb2.ReregisterSlaveMessage:
    return await master.wait_for(internal_pb2.ReregisterSlaveMessage)


def output(flags: AgentFlags) -> bytes:
    """What the one task has printed."""
    (stdout,) = Path(flags.work_dir).glob(f"slaves/{AGENT_ID}/frameworks/*/executors/t/runs/latest/stdout")
    return stdout.read_bytes()


def ends(master: InTestMaster, task_id: str) -> list[mesos_pb2.TaskStatus]:
    return [update.status for update in master.updates(task_id) if update.status.state in TERMINAL_STATES]


async def test_a_task_goes_on_and_its_end_is_told(flags: AgentFlags, master: InTestMaster, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    async with working_agent(flags, master, command_task("t", f"read x < {gate}; exit 7")):
        running = await master.wait_for_state("t", mesos_pb2.TASK_RUNNING)
    assert is_alive(running.container_status.executor_pid)

    async with running_agent(flags, master):
        again = await reregistered(master)
        await asyncio.to_thread(gate.write_text, "go on\n")
        end = await master.wait_for_end("t")

    assert again.slave.id.value == AGENT_ID
    assert [info.id.value for info in again.frameworks] == [checkpointed().id.value]
    (task,) = again.tasks
    assert (task.state, task.status_update_state) == (mesos_pb2.TASK_RUNNING, mesos_pb2.TASK_RUNNING)
    assert task.status_update_uuid == running.uuid
    assert (end.state, end.message) == (mesos_pb2.TASK_FAILED, "Command exited with status 7")
    assert len(master.updates("t")) == 3


async def test_an_update_that_was_not_acknowledged_is_sent_again(flags: AgentFlags, master: InTestMaster) -> None:
    master.acknowledges = False
    async with running_agent(flags, master):
        await master.wait_for(internal_pb2.RegisterSlaveMessage)
        master.ping()
        await master.wait_for(internal_pb2.PongSlaveMessage)
        master.run(command_task("t", "sleep 1000"), checkpointed())
        first = await master.wait_for(internal_pb2.StatusUpdateMessage)

    master.acknowledges = True
    async with running_agent(flags, master):
        again = await reregistered(master)
        second = await master.wait_for(internal_pb2.StatusUpdateMessage, count=2)
        await master.wait_for_state("t", mesos_pb2.TASK_RUNNING)

    assert again.tasks[0].status_update_state == mesos_pb2.TASK_STARTING
    assert second.update.status == first.update.status
    assert [update.status.state for update in master.updates("t")] == [mesos_pb2.TASK_STARTING, mesos_pb2.TASK_RUNNING]


async def test_a_task_that_ended_meanwhile_has_its_true_end(flags: AgentFlags, master: InTestMaster) -> None:
    task = command_task("t", "sleep 0.2; exit 5")
    async with working_agent(flags, master, task):
        status = await master.wait_for_state("t", mesos_pb2.TASK_RUNNING)
    await eventually(lambda: not is_alive(status.container_status.executor_pid))

    async with running_agent(flags, master):
        end = await master.wait_for_end("t")
        await reregistered(master)

    assert (end.state, end.message) == (mesos_pb2.TASK_FAILED, "Command exited with status 5")
    assert len(ends(master, "t")) == 1


async def test_a_kill_is_carried_out_in_time_without_an_agent(flags: AgentFlags, master: InTestMaster) -> None:
    task = command_task("t", "trap '' TERM; echo deaf; while :; do sleep 1; done")
    task.kill_policy.grace_period.nanoseconds = 3600_000_000_000
    async with working_agent(flags, master, task) as agent:
        status = await master.wait_for_state("t", mesos_pb2.TASK_RUNNING)
        await eventually(lambda: b"deaf" in output(flags))
        asked_at = time.monotonic()
        master.kill("t", grace_s=0.5)
        await agent_has_kept_kill(flags)
        await agent.close()

    await eventually(lambda: not is_alive(status.container_status.executor_pid))
    assert time.monotonic() - asked_at >= 0.5
    async with running_agent(flags, master):
        end = await master.wait_for_end("t")

    assert (end.state, end.message) == (mesos_pb2.TASK_KILLED, "Command terminated with signal Killed")


async def agent_has_kept_kill(flags: AgentFlags) -> None:
    path = Path(flags.work_dir) / "meta" / "agent.journal"
    size = path.stat().st_size
    await eventually(lambda: path.stat().st_size > size)


async def test_max_completion_time_goes_on(flags: AgentFlags, master: InTestMaster) -> None:
    task = command_task("t", "sleep 1000")
    task.max_completion_time.nanoseconds = 700_000_000
    began = time.monotonic()
    async with working_agent(flags, master, task):
        pass

    async with running_agent(flags, master):
        end = await master.wait_for_end("t")

    assert (end.state, end.reason) == (mesos_pb2.TASK_FAILED, _Status.REASON_MAX_COMPLETION_TIME_REACHED)
    assert time.monotonic() - began >= 0.7


async def test_a_health_check_goes_on(flags: AgentFlags, master: InTestMaster, tmp_path: Path) -> None:
    healthy = tmp_path / "healthy"
    healthy.touch()
    task = command_task("t", "sleep 1000")
    check = task.health_check
    check.type, check.command.value = mesos_pb2.HealthCheck.COMMAND, f"test -e {healthy}"
    check.delay_seconds, check.interval_seconds, check.consecutive_failures = 0.0, 0.1, 2
    check.grace_period_seconds = 0.0
    async with working_agent(flags, master, task):
        await master.wait_for(internal_pb2.StatusUpdateMessage, lambda message: message.update.status.healthy)

    async with running_agent(flags, master):
        await reregistered(master)
        healthy.unlink()
        end = await master.wait_for_end("t")

    assert (end.state, end.HasField("healthy"), end.healthy) == (mesos_pb2.TASK_KILLED, True, False)


async def test_a_task_that_was_never_started_is_dropped(flags: AgentFlags, master: InTestMaster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        task = command_task("t", "true")
        task.command.uris.add(value=f"http://127.0.0.1:{silent.getsockname()[1]}/file")
        async with running_agent(flags, master):
            await master.wait_for(internal_pb2.RegisterSlaveMessage)
            master.ping()
            await master.wait_for(internal_pb2.PongSlaveMessage)
            master.run(task, checkpointed())
            connection, _ = await asyncio.to_thread(silent.accept)
        connection.close()

    async with running_agent(flags, master):
        end = await master.wait_for_end("t")

    assert (end.state, end.reason) == (mesos_pb2.TASK_DROPPED, _Status.REASON_AGENT_RESTARTED)
    assert end.message == "Task launched during agent restart"
    assert len(master.updates("t")) == 1


async def test_without_checkpoints_a_task_ends_with_its_agent(flags: AgentFlags, master: InTestMaster) -> None:
    journal = Path(flags.work_dir) / "meta" / "agent.journal"
    async with running_agent(flags, master):
        await master.wait_for(internal_pb2.RegisterSlaveMessage)
        master.ping()
        await master.wait_for(internal_pb2.PongSlaveMessage)
        size = journal.stat().st_size
        master.run(command_task("t", "sleep 1000"))
        status = await master.wait_for_state("t", mesos_pb2.TASK_RUNNING)
        assert journal.stat().st_size == size
    assert not is_alive(status.container_status.executor_pid)

    async with running_agent(flags, master):
        assert list((await reregistered(master)).tasks) == []


async def test_an_agent_that_leaves_for_good_leaves_nothing(flags: AgentFlags, master: InTestMaster) -> None:
    async with working_agent(flags, master, command_task("t", "sleep 1000")) as agent:
        status = await master.wait_for_state("t", mesos_pb2.TASK_RUNNING)
        agent.unregister()
        await agent.close()
    assert not is_alive(status.container_status.executor_pid)
    assert list((Path(flags.work_dir) / "run" / "containers").iterdir()) == []

    async with running_agent(flags, master):
        await master.wait_for(internal_pb2.RegisterSlaveMessage, count=2)


async def test_cleanup_ends_what_the_agent_before_has_left(flags: AgentFlags, master: InTestMaster) -> None:
    async with working_agent(flags, master, command_task("t", "sleep 1000")):
        status = await master.wait_for_state("t", mesos_pb2.TASK_RUNNING)

    await clean_up(dataclasses.replace(flags, hostname="another"), master)

    assert not is_alive(status.container_status.executor_pid)
    async with running_agent(flags, master):
        await master.wait_for(internal_pb2.RegisterSlaveMessage, count=2)


async def test_after_a_reboot_a_changed_agent_is_a_new_one(
    flags: AgentFlags, master: InTestMaster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with working_agent(flags, master, command_task("t", "sleep 1000")):
        status = await master.wait_for_state("t", mesos_pb2.TASK_RUNNING)

    monkeypatch.setattr("tfmesos.agent.app.read_boot_id", lambda: "the next boot")
    async with running_agent(dataclasses.replace(flags, resources="cpus:1"), master):
        await master.wait_for(internal_pb2.RegisterSlaveMessage, count=2)
        await eventually(lambda: not is_alive(status.container_status.executor_pid))
    assert ends(master, "t") == []


async def test_a_completed_framework_is_told_of(flags: AgentFlags, master: InTestMaster) -> None:
    async with working_agent(flags, master, command_task("t", "true")):
        await master.wait_for_end("t")
        master.ping(connected=False)
        again = await reregistered(master)

    async with running_agent(flags, master):
        restarted = await master.wait_for(internal_pb2.ReregisterSlaveMessage, count=2)

    (completed,) = again.completed_frameworks
    assert completed.framework_info == checkpointed()
    assert [(task.task_id.value, task.state) for task in completed.tasks] == [("t", mesos_pb2.TASK_FINISHED)]
    assert [one.framework_info for one in restarted.completed_frameworks] == [checkpointed()]
    assert list(again.tasks) == list(restarted.tasks) == []
