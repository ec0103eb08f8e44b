"""Command tasks in the core: the texts and states of Mesos' command executor."""

from __future__ import annotations

import pytest

from tests.agent.core_play import (
    build_core,
    command_order,
    executor_of,
    info,
    key,
    kinds,
    reports,
    running_command,
)
from tests.agent.in_test_master import command_task
from tfmesos.agent.core import Ending, KillContainer, Report, Running
from tfmesos.agent.core.books import Deadlines
from tfmesos.agent.core.command_tasks import grace_of
from tfmesos.agent.core.texts import ending_text
from tfmesos.wire import mesos_pb2

_Status = mesos_pb2.TaskStatus


@pytest.mark.parametrize(
    ("wait_status", "text"),
    [
        (0, "Command exited with status 0"),
        (7 << 8, "Command exited with status 7"),
        (9, "Command terminated with signal Killed"),
        (15, "Command terminated with signal Terminated"),
        (11 | 0x80, "Command terminated with signal Segmentation fault (core dumped)"),
        (None, "Failed to get exit status for Command"),
    ],
)
def test_the_texts_of_endings_are_mesos(wait_status: int | None, text: str) -> None:
    task = command_task("a")

    assert ending_text(task, wait_status) == text

    task.container.type = mesos_pb2.ContainerInfo.DOCKER
    assert ending_text(task, wait_status) == text.replace("Command", "Container")


def test_what_the_engine_says_of_a_container_is_told_with_running() -> None:
    core = build_core()
    core.run(command_order(command_task("a")), "c1")
    executor = executor_of(core, "a")
    core.forked(executor, 5)

    (report,) = core.opened(executor, 0, Running(data=b"[{}]", ip_address="10.0.0.2"))

    assert isinstance(report, Report)
    status = report.status
    assert status.data == b"[{}]"
    (network,) = status.container_status.network_infos
    assert [address.ip_address for address in network.ip_addresses] == ["10.0.0.2"]


def test_the_kill_grace_is_the_tasks_own_or_three_seconds() -> None:
    task = command_task("a")
    assert grace_of(task) == 3
    task.kill_policy.grace_period.nanoseconds = 1_500_000_000
    assert grace_of(task) == 1.5


def test_what_a_restarted_agent_must_know_comes_before_what_follows_from_it() -> None:
    core = build_core()

    assert kinds(core.run(command_order(command_task("a")), "c1")) == [
        "KeepFramework",
        "KeepTasks",
        "StartContainer",
    ]
    executor = executor_of(core, "a")
    assert kinds(core.forked(executor, 5)) == ["Report", "Deliver", "OpenGate"]
    core.opened(executor, 0)
    assert kinds(core.kill(key("a"), None)) == ["KeepKill", "Report", "KillContainer"]


@pytest.mark.parametrize("was_forked", [False, True])
def test_a_kill_before_the_container_is_there_is_reported_when_nothing_is_left_of_it(was_forked: bool) -> None:
    core = build_core()
    core.run(command_order(command_task("a")), "c1")
    executor = executor_of(core, "a")

    assert core.kill(key("a"), None) == [KillContainer(executor, 0.0)]
    if was_forked:
        assert core.forked(executor, 5) == [KillContainer(executor, 0.0)]
        (report,) = core.ended(executor, Ending(wait_status=None, message=""))
    else:
        (report,) = core.failed(executor, "the container was destroyed while it was launched")

    assert isinstance(report, Report)
    assert (report.status.state, report.status.reason) == (
        mesos_pb2.TASK_KILLED,
        _Status.REASON_TASK_KILLED_DURING_LAUNCH,
    )
    assert report.status.message == "Killed before delivery to the executor"


def test_a_lost_supervisor_fails_the_task_as_a_lost_executor() -> None:
    core = build_core()
    executor = running_command(core, "c1", command_task("a"))

    (report,) = core.ended(executor, Ending(wait_status=None, message="its supervisor was lost"))

    assert isinstance(report, Report)
    assert report.status.message == "Executor terminated; its supervisor was lost"
    assert report.status.reason == _Status.REASON_EXECUTOR_TERMINATED
    assert report.status.source == _Status.SOURCE_AGENT


def test_the_time_limit_of_an_ended_task_does_not_end_the_next_of_its_id() -> None:
    core = build_core()
    limited = command_task("a")
    limited.max_completion_time.nanoseconds = 10**9
    first = running_command(core, "c1", limited)
    core.ended(first, Ending(wait_status=0))
    core.acknowledged(key("a"))
    running_command(core, "c2", command_task("a"))

    assert core.tick(2) == []
    assert core.deadline() is None


def test_time_limits_of_ended_tasks_do_not_pile_up() -> None:
    deadlines = Deadlines()
    core = build_core()
    for number in range(5000):
        executor = running_command(core, f"c{number}", command_task("a"))
        deadlines.set(executor, 1e6)
        core.ended(executor, Ending(wait_status=0))
        core.acknowledged(key("a"))

    assert len(deadlines) <= 2000
    assert deadlines.first() is None


def test_an_overdue_task_fails_with_its_reason() -> None:
    core = build_core()
    limited = command_task("a")
    limited.max_completion_time.nanoseconds = 10**9
    executor = running_command(core, "c1", limited)

    assert kinds(core.tick(1)) == ["KeepKill", "KillContainer"]
    (report,) = core.ended(executor, Ending(wait_status=15))

    assert isinstance(report, Report)
    assert report.status.state == mesos_pb2.TASK_FAILED
    assert report.status.reason == _Status.REASON_MAX_COMPLETION_TIME_REACHED


def test_a_task_that_comes_again_while_its_container_still_ends_is_the_same() -> None:
    core = build_core()
    core.run(command_order(command_task("a")), "c1")
    core.kill(key("a"), None)  # before the container was there: it is still under way

    assert core.run(command_order(command_task("a")), "c2") == []


def test_health_is_told_on_each_finding_and_ends_the_task() -> None:
    core = build_core()
    task = command_task("a")
    task.health_check.command.value = "false"
    executor = running_command(core, "c1", task)
    record = executor.tasks["a"]

    (told,) = core.health_told(record, False)
    killing = core.unhealthy(record)
    (*_, ended) = core.ended(executor, Ending(wait_status=15))

    assert isinstance(told, Report)
    assert told.status.state == mesos_pb2.TASK_RUNNING
    assert not told.status.healthy
    assert told.status.reason == _Status.REASON_TASK_HEALTH_CHECK_STATUS_UPDATED
    assert kinds(killing) == ["KeepKill", "StopChecks", "Report", "KillContainer"]
    assert isinstance(ended, Report)
    assert ended.status.state == mesos_pb2.TASK_KILLED
    assert ended.status.HasField("healthy")
    assert core.health_told(record, False) == []


def test_every_status_of_a_checked_task_has_a_check_status() -> None:
    core = build_core()
    task = command_task("a")
    task.check.type = mesos_pb2.CheckInfo.COMMAND
    task.check.command.command.value = "true"
    executor = running_command(core, "c1", task)

    (told,) = core.checked(
        executor.tasks["a"],
        mesos_pb2.CheckStatusInfo(
            type=mesos_pb2.CheckInfo.COMMAND, command=mesos_pb2.CheckStatusInfo.Command(exit_code=3)
        ),
    )
    (_, ended) = core.ended(executor, Ending(wait_status=0))

    assert isinstance(told, Report)
    assert isinstance(ended, Report)
    assert told.status.check_status.command.exit_code == 3
    assert told.status.reason == _Status.REASON_TASK_CHECK_STATUS_UPDATED
    assert ended.status.check_status.command.exit_code == 3


def test_a_drained_agent_kills_says_why_and_takes_nothing() -> None:
    core = build_core()
    executor = running_command(core, "c1", command_task("a"))
    config = mesos_pb2.DrainConfig()
    config.max_grace_period.nanoseconds = 10**9

    actions = core.drain(config, 0)

    assert KillContainer(executor, 1.0) in actions
    (dropped,) = core.run(command_order(command_task("b")), "c2")
    (killed,) = core.ended(executor, Ending(wait_status=15))
    assert isinstance(dropped, Report)
    assert isinstance(killed, Report)
    assert dropped.status.message == "Task was received while agent was already draining"
    assert (killed.status.state, killed.status.reason) == (mesos_pb2.TASK_KILLED, _Status.REASON_AGENT_DRAINING)
    assert kinds(core.acknowledged(key("a"))) == ["ForgetTask", "ForgetExecutor", "ForgetFramework", "KeepDrain"]
    assert core.draining is None


def test_tasks_unknown_to_the_agent_are_told_of() -> None:
    core = build_core()
    running_command(core, "c1", command_task("a"))

    actions = core.report_unknown(info(), ["a", "b"])

    assert reports(actions) == [("b", "TASK_LOST", "Reconciliation: task unknown to the agent")]


def test_the_acknowledged_end_of_a_task_that_was_not_here_ends_no_other() -> None:
    core = build_core()
    running_command(core, "c1", command_task("a"))

    assert core.acknowledged(key("a")) == []
    assert core.find(key("a")) is not None
