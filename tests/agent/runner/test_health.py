"""Checks and health checks of command tasks."""

from __future__ import annotations

from pathlib import Path

from tests.agent.in_test_master import FRAMEWORK_ID, KILLING_STATE, InTestMaster, command_task, framework
from tfmesos.agent import Agent, AgentFlags
from tfmesos.wire import internal_pb2, mesos_pb2

_Status = mesos_pb2.TaskStatus
Update = internal_pb2.StatusUpdateMessage


def watched_task(task_id: str, check: str, command: str = "exec sleep 1000") -> mesos_pb2.TaskInfo:
    """A task with a quick COMMAND health check."""
    task = command_task(task_id, command)
    health = task.health_check
    health.type = mesos_pb2.HealthCheck.COMMAND
    health.command.value = check
    health.delay_seconds = 0
    health.interval_seconds = 0.05
    health.grace_period_seconds = 0
    health.consecutive_failures = 2
    return task


async def test_a_healthy_task_is_told_of_once(agent: Agent, master: InTestMaster) -> None:
    master.run(watched_task("a", "true"))

    told = await master.wait_for(Update, lambda message: message.update.status.HasField("healthy"))

    status = told.update.status
    assert status.healthy
    assert (status.state, status.reason) == (
        mesos_pb2.TASK_RUNNING,
        _Status.REASON_TASK_HEALTH_CHECK_STATUS_UPDATED,
    )
    master.kill("a", 0)
    ended = await master.wait_for_end("a")
    assert not ended.HasField("healthy")


async def test_an_unhealthy_task_is_killed_and_says_so(agent: Agent, master: InTestMaster, flags: AgentFlags) -> None:
    master.run(watched_task("a", "echo looked; false"), framework(KILLING_STATE))

    ended = await master.wait_for_end("a")

    assert ended.state == mesos_pb2.TASK_KILLED
    assert ended.HasField("healthy")
    assert not ended.healthy
    statuses = [update.status for update in master.updates("a")]
    assert [(mesos_pb2.TaskState.Name(status.state), status.HasField("healthy")) for status in statuses] == [
        ("TASK_STARTING", False),
        ("TASK_RUNNING", False),
        ("TASK_RUNNING", True),
        ("TASK_RUNNING", True),
        ("TASK_KILLING", False),
        ("TASK_KILLED", True),
    ]
    sandbox = Path(flags.work_dir, "slaves/latest/frameworks", FRAMEWORK_ID, "executors/a/runs/latest")
    assert list((sandbox / "containers").iterdir()) == [], "looks leave nothing behind"


async def test_a_check_tells_what_it_sees(agent: Agent, master: InTestMaster) -> None:
    task = command_task("a", "exec sleep 1000")
    task.check.type = mesos_pb2.CheckInfo.COMMAND
    task.check.command.command.value = "exit 3"
    task.check.delay_seconds = 0
    master.run(task)

    def is_told(message: internal_pb2.StatusUpdateMessage) -> bool:
        return message.update.status.check_status.command.HasField("exit_code")

    status = (await master.wait_for(Update, is_told)).update.status

    assert status.check_status.command.exit_code == 3
    assert status.reason == _Status.REASON_TASK_CHECK_STATUS_UPDATED
    first = master.updates("a")[0].status
    assert first.HasField("check_status")
    assert not first.check_status.command.HasField("exit_code")
