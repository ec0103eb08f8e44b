"""Executors with a program of their own, in the core."""

from __future__ import annotations

from tests.agent.core_play import (
    Call,
    build_core,
    command_order,
    events,
    executor_of,
    executor_order,
    info,
    key,
    kinds,
    reports,
    running_executor,
    status,
)
from tests.agent.in_test_master import command_task
from tfmesos.agent.core import Ending, KillContainer, OpenGate, Order, Phase, Report, Tell
from tfmesos.wire import internal_pb2, mesos_pb2

_Status = mesos_pb2.TaskStatus
RUNNING, FINISHED = mesos_pb2.TASK_RUNNING, mesos_pb2.TASK_FINISHED
OTHER_UUID = b"another uuid 16b"


def test_tasks_wait_for_their_executor_to_subscribe() -> None:
    core = build_core()
    assert kinds(core.run(executor_order("a"), "c1")) == ["KeepFramework", "KeepTasks", "StartContainer"]
    assert kinds(core.run(executor_order("b"), "c2")) == ["KeepTasks"]
    executor = executor_of(core)
    assert core.forked(executor, 5) == [OpenGate(executor)]

    actions = core.subscribed(executor, Call.Subscribe(), 1)

    assert events(actions) == ["SUBSCRIBED", "LAUNCH", "LAUNCH"]
    assert events(core.run(executor_order("c"), "c3")) == ["LAUNCH"]
    assert core.deadline() is None


def test_a_group_is_delivered_as_one() -> None:
    core = build_core()
    core.run(executor_order("a", "b", is_group=True), "c1")
    executor = executor_of(core)
    core.forked(executor, 5)

    assert events(core.subscribed(executor, Call.Subscribe(), 0)) == ["SUBSCRIBED", "LAUNCH_GROUP"]


def test_an_update_is_reported_before_it_is_acknowledged() -> None:
    core = build_core()
    executor = running_executor(core, "a")

    assert kinds(core.updated(executor, status("a", RUNNING))) == ["Report", "SendEvent"]


def test_a_repeated_update_and_one_after_the_end_are_only_acknowledged() -> None:
    core = build_core()
    executor = running_executor(core, "a")
    core.updated(executor, status("a", FINISHED))

    assert kinds(core.updated(executor, status("a", FINISHED))) == ["SendEvent"]
    assert kinds(core.updated(executor, status("a", RUNNING, OTHER_UUID))) == ["SendEvent"]
    core.acknowledged(key("a"))
    assert kinds(core.updated(executor, status("a", FINISHED))) == ["SendEvent"]


def test_an_executor_cannot_speak_of_a_task_that_it_was_not_given() -> None:
    core = build_core()
    executor = running_executor(core, "a", checkpoint=True)
    core.stream_lost(executor, 0)
    core.run(executor_order("b", checkpoint=True), "c1")

    assert kinds(core.updated(executor, status("b", FINISHED))) == ["SendEvent"]
    assert not executor.tasks["b"].has_ended


def test_an_update_of_an_unknown_task_is_passed_on() -> None:
    core = build_core()
    executor = running_executor(core, "a")

    report, _ = core.updated(executor, status("never", RUNNING))

    assert isinstance(report, Report)
    assert report.record is None


def test_the_last_kill_of_what_waits_ends_an_executor_that_has_not_subscribed() -> None:
    core = build_core()
    core.run(executor_order("a"), "c1")
    core.run(executor_order("b"), "c1")
    executor = executor_of(core)
    core.forked(executor, 5)

    first, second = core.kill(key("a"), None), core.kill(key("b"), None)

    assert reports(first) == [("a", "TASK_KILLED", "Killed before delivery to the executor")]
    assert kinds(first) == ["Report"]
    assert kinds(second) == ["Report", "KeepEnding", "CloseStream", "KillContainer"]
    assert events(core.subscribed(executor, Call.Subscribe(), 0)) == ["SHUTDOWN"]


def test_a_kill_before_delivery_ends_the_whole_group() -> None:
    core = build_core()
    core.run(executor_order("a", "b", is_group=True), "c1")

    actions = core.kill(key("b"), None)

    text = "A task within the task group was killed before delivery to the executor"
    assert reports(actions) == [("a", "TASK_KILLED", text), ("b", "TASK_KILLED", text)]


def test_a_kill_of_a_delivered_task_is_the_executors() -> None:
    core = build_core()
    running_executor(core, "a")

    actions = core.kill(key("a"), 1.5)

    assert kinds(actions) == ["KeepKill", "SendEvent"]
    assert events(actions) == ["KILL"]


def test_an_executor_that_does_not_subscribe_in_time_fails_its_tasks() -> None:
    core = build_core()
    core.run(executor_order("a"), "c1")
    executor = executor_of(core)
    core.forked(executor, 5)
    core.opened(executor, 30)

    assert core.tick(89) == []
    assert KillContainer(executor, 0.0) in core.tick(90)
    close, told, report = core.ended(executor, Ending(wait_status=9))[:3]

    assert isinstance(told, Tell)
    assert isinstance(report, Report)
    assert report.status.message == "Executor did not register within 1mins"
    assert report.status.reason == _Status.REASON_EXECUTOR_REGISTRATION_TIMEOUT
    assert kinds([close]) == ["CloseStream"]


def test_the_time_to_subscribe_does_not_pass_while_an_image_is_pulled() -> None:
    core = build_core()
    core.run(executor_order("a"), "c1")

    assert core.tick(3600) == []
    assert core.deadline() is None


def test_the_master_hears_of_a_dead_executor_before_its_tasks_end() -> None:
    core = build_core()
    executor = running_executor(core, "a", "b")
    core.updated(executor, status("a", FINISHED))

    actions = core.ended(executor, Ending(wait_status=0))

    assert kinds(actions) == ["CloseStream", "Tell", "Report"]
    assert reports(actions) == [("b", "TASK_FAILED", "Executor terminated")]
    told = next(action.message for action in actions if isinstance(action, Tell))
    assert isinstance(told, internal_pb2.ExitedExecutorMessage)
    assert (told.executor_id.value, told.status) == ("e", 0)
    core.acknowledged(key("a"))
    assert kinds(core.acknowledged(key("b"))) == ["ForgetTask", "ForgetExecutor", "ForgetFramework"]


def test_a_container_that_cannot_be_made_fails_all_tasks() -> None:
    core = build_core()
    core.run(executor_order("a", "b", is_group=True), "c1")

    actions = core.failed(executor_of(core), "no")

    text = "Failed to launch container: no"
    assert kinds(actions) == ["CloseStream", "Tell", "Report", "Report"]
    assert reports(actions) == [("a", "TASK_FAILED", text), ("b", "TASK_FAILED", text)]


def test_a_shutdown_leaves_the_executor_its_grace() -> None:
    core = build_core()
    executor = running_executor(core, "a")

    actions = core.shut_down_executor("f", "e", 10)

    assert kinds(actions) == ["KeepEnding", "SendEvent"]
    assert events(actions) == ["SHUTDOWN"]
    assert core.deadline() == 15
    assert core.tick(15) == [KillContainer(executor, 0.0)]
    assert kinds(core.kill(key("a"), None)) == []


def test_a_framework_that_is_gone_hears_nothing() -> None:
    core = build_core()
    executor = running_executor(core, "a")

    assert kinds(core.shut_down_framework("f", 0)) == ["KeepFrameworkEnding", "KeepEnding", "SendEvent"]
    assert core.updated(executor, status("a", mesos_pb2.TASK_KILLED)) == []
    assert kinds(core.ended(executor, Ending(wait_status=0))) == [
        "CloseStream",
        "Tell",
        "ForgetExecutor",
        "ForgetFramework",
    ]


def test_a_subscription_replays_updates_and_drops_what_was_never_heard_of() -> None:
    core = build_core()
    executor = running_executor(core, "a", "b", "c", checkpoint=True)
    core.stream_lost(executor, 0)
    call = Call.Subscribe()
    call.unacknowledged_updates.add(status=status("a", RUNNING))
    call.unacknowledged_tasks.append(command_task("b"))

    actions = core.subscribed(executor, call, 0)

    assert reports(actions) == [("a", "TASK_RUNNING", ""), ("c", "TASK_LOST", "Task launched during agent restart")]
    assert events(actions) == ["SUBSCRIBED", "ACKNOWLEDGED"]


def test_a_kill_is_said_again_to_an_executor_that_returns() -> None:
    core = build_core()
    executor = running_executor(core, "a", checkpoint=True)
    core.updated(executor, status("a", RUNNING))
    core.stream_lost(executor, 0)
    core.kill(key("a"), None)

    assert events(core.subscribed(executor, Call.Subscribe(), 0)) == ["SUBSCRIBED", "KILL"]


def test_a_lost_stream_ends_an_executor_that_cannot_come_back() -> None:
    core = build_core()
    executor = running_executor(core, "a")

    core.stream_lost(executor, 10)

    assert KillContainer(executor, 0.0) in core.tick(15)
    assert executor.phase is Phase.TERMINATING


def test_with_checkpoints_a_lost_stream_is_waited_for() -> None:
    core = build_core()
    executor = running_executor(core, "a", checkpoint=True)

    core.stream_lost(executor, 10)

    assert core.deadline() is None
    assert events(core.run(executor_order("b", checkpoint=True), "c2")) == []
    assert events(core.subscribed(executor, Call.Subscribe(unacknowledged_tasks=[command_task("a")]), 12)) == [
        "SUBSCRIBED",
        "LAUNCH",
    ]


def test_what_the_master_believes_of_an_executor_must_fit() -> None:
    core = build_core()
    wants_old = Order(
        framework=info(),
        tasks=(command_task("a"),),
        executor=executor_order("a").executor,
        launches_executor=False,
    )
    assert [text for _, _, text in reports(core.run(wants_old, "c1"))] == [
        "No executor is expected to launch and there is none running"
    ]
    running_executor(core, "b")
    wants_new = Order(
        framework=info(),
        tasks=(command_task("a"),),
        executor=executor_order("a").executor,
        launches_executor=True,
    )
    actions = core.run(wants_new, "c1")
    assert kinds(actions) == ["Tell", "Report"]
    assert [text for _, _, text in reports(actions)] == ["Master wants to launch executor, but one already exists"]


def test_a_task_cannot_join_a_command_tasks_executor() -> None:
    core = build_core()
    core.run(command_order(command_task("e")), "c1")

    actions = core.run(executor_order("a"), "c2")

    assert reports(actions) == [("a", "TASK_LOST", "Master wants to launch executor, but one already exists")]


def test_limits_of_an_executors_task_are_refused() -> None:
    core = build_core()
    order = executor_order("a")
    order.tasks[0].limits["mem"].value = 64

    (report,) = core.run(order, "c1")

    assert isinstance(report, Report)
    assert report.status.message == "resource limits are not supported by this agent yet"
    assert report.status.reason == _Status.REASON_GC_ERROR


def test_messages_reach_an_executor_that_listens() -> None:
    core = build_core()
    assert core.message("f", "e", b"hello") == []
    running_executor(core, "a")

    assert events(core.message("f", "e", b"hello")) == ["MESSAGE"]
    assert (core.counts["valid_framework_messages"], core.counts["invalid_framework_messages"]) == (1, 1)


def test_messages_of_an_executor_reach_its_framework() -> None:
    core = build_core()
    executor = running_executor(core, "a")

    (told,) = core.messaged(executor, b"hi")

    assert isinstance(told, Tell)
    assert isinstance(told.message, internal_pb2.ExecutorToFrameworkMessage)
    assert told.message.data == b"hi"
