"""The default executor's core: what a group's life looks like."""

from collections.abc import Iterator
from signal import SIGKILL, SIGTERM

import pytest

from tests.executors.builders import EXIT_0, EXIT_3, PARENT, build_core, result, task
from tfmesos.executors.default.core import Core
from tfmesos.executors.default.moves import (
    Action,
    CheckTold,
    FoundHopeless,
    GroupArrived,
    HealthTold,
    KillArrived,
    Launch,
    Launched,
    LaunchRefused,
    ShutdownArrived,
    Signal,
    Signalled,
    StartChecks,
    StartTimer,
    StopChecks,
    Timer,
    TimerFired,
    Update,
    Wait,
    Waited,
)
from tfmesos.wire import mesos_pb2
from tfmesos.wire.text import state_name


def states(actions: list[Action]) -> list[str]:
    return list(told(actions))


def told(actions: list[Action]) -> Iterator[str]:
    for action in actions:
        if isinstance(action, Update):
            status = action.status
            message = f" {status.message}" if status.HasField("message") else ""
            yield f"{status.task_id.value} {state_name(status.state)}{message}"


def status_of(actions: list[Action]) -> mesos_pb2.TaskStatus:
    (status,) = [action.status for action in actions if isinstance(action, Update)]
    return status


def signals(actions: list[Action]) -> list[tuple[str, int]]:
    return [(action.container_id.value, action.number) for action in actions if isinstance(action, Signal)]


def running_pair(core: Core, *tasks: mesos_pb2.TaskInfo) -> None:
    core.handle(GroupArrived(tasks or (task("a"), task("b"))), 0)
    core.handle(Launched("c1"), 0)
    core.handle(Launched("c2"), 0)


def test_each_task_of_a_group_is_started_in_a_container_below_the_executors() -> None:
    core = build_core()

    actions = core.handle(GroupArrived([task("a"), task("b")]), 0)

    assert states(actions) == ["a TASK_STARTING", "b TASK_STARTING"]
    launches = [action.launch for action in actions if isinstance(action, Launch)]
    assert [(launch.container_id.value, launch.container_id.parent) for launch in launches] == [
        ("c1", PARENT),
        ("c2", PARENT),
    ]
    variables = {item.name: item.value for item in launches[0].command.environment.variables}
    assert variables == {"MESOS_CONTAINER_IP": "10.0.0.1", "MESOS_ALLOCATION_ROLE": "*"}


def test_a_launched_task_runs_and_is_waited_for() -> None:
    core = build_core()
    core.handle(GroupArrived([task("a")]), 0)

    actions = core.handle(Launched("c1"), 0)

    assert states(actions) == ["a TASK_RUNNING"]
    assert status_of(actions).container_status.container_id.value == "c1"
    assert [action.container_id.value for action in actions if isinstance(action, Wait)] == ["c1"]


def test_a_task_that_succeeds_leaves_the_others_alone() -> None:
    core = build_core()
    running_pair(core)

    assert states(core.handle(Waited("c1", result(EXIT_0)), 0)) == ["a TASK_FINISHED Command exited with status 0"]
    assert not core.is_done
    assert states(core.handle(Waited("c2", result(EXIT_0)), 0)) == ["b TASK_FINISHED Command exited with status 0"]
    assert core.is_done


def test_a_task_that_fails_takes_its_group_with_it_and_no_other() -> None:
    core = build_core()
    running_pair(core)
    core.handle(GroupArrived([task("other")]), 0)

    actions = core.handle(Waited("c1", result(EXIT_3)), 0)

    assert states(actions) == ["a TASK_FAILED Command exited with status 3", "b TASK_KILLING"]
    assert signals(actions) == [("c2", SIGTERM)]
    actions = core.handle(Waited("c2", result(SIGTERM)), 0)
    assert states(actions) == ["b TASK_KILLED Command terminated with signal Terminated"]
    assert core.tasks == ["other"]


def test_a_killed_task_gets_sigterm_and_after_the_grace_sigkill() -> None:
    core = build_core()
    running_pair(core)

    actions = core.handle(KillArrived("a", None), 100)

    assert states(actions) == ["a TASK_KILLING"]
    assert signals(actions) == [("c1", SIGTERM)]
    assert StartTimer("c1", Timer.GRACE, 3.0) in actions
    assert signals(core.handle(TimerFired("c1", Timer.GRACE), 103)) == [("c1", SIGKILL)]


def test_the_rest_of_a_group_is_killed_when_the_killed_one_is_over() -> None:
    core = build_core()
    running_pair(core)
    core.handle(KillArrived("a", None), 0)

    actions = core.handle(Waited("c1", result(EXIT_0)), 0)

    assert states(actions) == ["a TASK_KILLED Command exited with status 0", "b TASK_KILLING"]


def test_task_killing_is_told_only_to_frameworks_that_know_it() -> None:
    core = build_core(tells_killing=False)
    running_pair(core)

    assert states(core.handle(KillArrived("a", None), 0)) == []


def test_a_kills_own_policy_wins_over_the_tasks() -> None:
    core = build_core()
    policy = mesos_pb2.KillPolicy(grace_period=mesos_pb2.DurationInfo(nanoseconds=10**9))
    running_pair(core, task("a", kill_policy=policy), task("b", kill_policy=policy))

    assert StartTimer("c1", Timer.GRACE, 0.5) in core.handle(KillArrived("a", 0.5), 0)
    assert StartTimer("c2", Timer.GRACE, 1.0) in core.handle(KillArrived("b", None), 0)


def test_a_further_kill_only_brings_the_end_nearer() -> None:
    core = build_core()
    running_pair(core)
    core.handle(KillArrived("a", 10), 0)

    assert core.handle(KillArrived("a", 20), 1) == []
    assert core.handle(KillArrived("a", 2), 1) == [StartTimer("c1", Timer.GRACE, 2)]


def test_a_kill_during_the_launch_is_sent_at_once_and_ends_as_killed_when_the_launch_is_refused() -> None:
    core = build_core()
    core.handle(GroupArrived([task("a")]), 0)

    actions = core.handle(KillArrived("a", 1), 0)

    assert signals(actions) == [("c1", SIGTERM)]
    assert signals(core.handle(TimerFired("c1", Timer.GRACE), 1)) == [("c1", SIGKILL)]
    assert states(core.handle(LaunchRefused("c1", "destroyed"), 1)) == ["a TASK_KILLED destroyed"]


def test_a_task_that_was_killed_during_its_launch_never_runs() -> None:
    core = build_core()
    core.handle(GroupArrived([task("a")]), 0)
    core.handle(KillArrived("a", 1), 0)

    actions = core.handle(Launched("c1"), 0)

    assert states(actions) == []
    assert signals(actions) == [("c1", SIGTERM)]


def test_a_signal_that_was_sent_during_the_launch_is_not_sent_twice() -> None:
    core = build_core()
    core.handle(GroupArrived([task("a")]), 0)
    core.handle(KillArrived("a", 1), 0)
    core.handle(Signalled("c1", SIGTERM), 0)

    assert signals(core.handle(Launched("c1"), 0)) == []


def test_a_refused_launch_fails_the_task_with_the_agents_text_and_its_group() -> None:
    core = build_core()
    core.handle(GroupArrived([task("a"), task("b"), task("c")]), 0)
    core.handle(Launched("c1"), 0)

    actions = core.handle(LaunchRefused("c2", "no such image"), 0)

    assert states(actions) == ["b TASK_FAILED no such image", "a TASK_KILLING", "c TASK_KILLING"]


def test_a_task_that_runs_too_long_is_killed_at_once_and_failed() -> None:
    core = build_core()
    limit = mesos_pb2.DurationInfo(nanoseconds=2 * 10**9)
    core.handle(GroupArrived([task("a", max_completion_time=limit)]), 0)
    assert StartTimer("c1", Timer.COMPLETION, 2.0) in core.handle(Launched("c1"), 0)

    actions = core.handle(TimerFired("c1", Timer.COMPLETION), 2)

    assert states(actions) == []
    assert signals(actions) == [("c1", SIGTERM)]
    assert StartTimer("c1", Timer.GRACE, 0.0) in actions
    status = status_of(core.handle(Waited("c1", result(SIGTERM)), 2))
    assert status.state == mesos_pb2.TASK_FAILED
    assert status.reason == mesos_pb2.TaskStatus.REASON_MAX_COMPLETION_TIME_REACHED


def test_a_container_that_the_agent_knows_nothing_of_is_a_failure() -> None:
    core = build_core()
    running_pair(core)

    actions = core.handle(Waited("c1", None), 0)

    assert states(actions)[0] == "a TASK_FAILED Unable to retrieve command's termination information"


def test_what_the_agent_says_of_an_end_is_told() -> None:
    core = build_core()
    running_pair(core)
    reason = mesos_pb2.TaskStatus.REASON_CONTAINER_LIMITATION_MEMORY

    actions = core.handle(Waited("c1", result(SIGKILL, message="Memory limit exceeded", reason=reason)), 0)

    assert states(actions)[0] == "a TASK_FAILED Command terminated with signal Killed: Memory limit exceeded"
    assert next(action.status.reason for action in actions if isinstance(action, Update)) == reason


def test_health_is_told_and_the_hopeless_is_killed_and_ends_unhealthy() -> None:
    core = build_core()
    check = mesos_pb2.HealthCheck(command=mesos_pb2.CommandInfo(value="x"))
    core.handle(GroupArrived([task("a", health_check=check)]), 0)
    assert any(isinstance(action, StartChecks) for action in core.handle(Launched("c1"), 0))

    news = status_of(core.handle(HealthTold("c1", False), 0))
    actions = core.handle(FoundHopeless("c1"), 0)

    assert (news.healthy, news.reason) == (False, mesos_pb2.TaskStatus.REASON_TASK_HEALTH_CHECK_STATUS_UPDATED)
    assert StopChecks("c1") in actions
    assert states(actions) == ["a TASK_KILLING"]
    assert not status_of(actions).HasField("healthy")
    last = status_of(core.handle(Waited("c1", result(SIGTERM)), 0))
    assert (last.state, last.healthy) == (mesos_pb2.TASK_KILLED, False)


def test_news_of_a_check_keep_the_health_and_every_status_has_a_check_status() -> None:
    core = build_core()
    check = mesos_pb2.CheckInfo(type=mesos_pb2.CheckInfo.TCP, tcp=mesos_pb2.CheckInfo.Tcp(port=1))
    starting = core.handle(GroupArrived([task("a", check=check)]), 0)
    core.handle(Launched("c1"), 0)
    core.handle(HealthTold("c1", True), 0)
    seen = mesos_pb2.CheckStatusInfo(type=mesos_pb2.CheckInfo.TCP)
    seen.tcp.succeeded = True

    news = status_of(core.handle(CheckTold("c1", seen), 0))

    assert (news.healthy, news.check_status) == (True, seen)
    empty = status_of([action for action in starting if isinstance(action, Update)])
    assert empty.check_status.HasField("tcp")
    assert not empty.check_status.tcp.HasField("succeeded")


def test_a_shutdown_kills_all_within_its_grace_and_takes_no_new_tasks() -> None:
    core = build_core()
    running_pair(core)

    actions = core.handle(ShutdownArrived(2), 0)

    assert signals(actions) == [("c1", SIGTERM), ("c2", SIGTERM)]
    assert StartTimer("c1", Timer.GRACE, 2) in actions
    assert core.handle(GroupArrived([task("late")]), 0) == []


def test_a_shutdown_before_any_task_leaves_nothing_to_do() -> None:
    core = build_core()
    assert not core.is_done

    core.handle(ShutdownArrived(2), 0)

    assert core.is_done


@pytest.mark.parametrize("kind", [Launched("gone"), Waited("gone", None), TimerFired("gone", Timer.GRACE)])
def test_what_comes_after_the_end_has_no_effect(kind: Launched | Waited | TimerFired) -> None:
    assert build_core().handle(kind, 0) == []
