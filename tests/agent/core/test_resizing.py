"""Executors' containers that are resized as tasks come and go."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.agent.core_play import Call, build_core, events, executor_of, executor_order, key, reports, status
from tfmesos.agent.core import Action, AgentCore, Ending, ExecutorRecord, KillContainer, Report, UpdateContainer
from tfmesos.wire import mesos_pb2

FINISHED, RUNNING = mesos_pb2.TASK_FINISHED, mesos_pb2.TASK_RUNNING
FIRST, SECOND = b"1" * 16, b"2" * 16


def asked(actions: Sequence[Action]) -> list[list[str]]:
    """For which tasks containers are to be resized."""
    updates = [action for action in actions if isinstance(action, UpdateContainer)]
    return [sorted(record.key.task_id for record in update.tasks) for update in updates]


@pytest.fixture
def core() -> AgentCore:
    return build_core(resizes_containers=True)


@pytest.fixture
def executor(core: AgentCore) -> ExecutorRecord:
    """With a delivered task `one`, for which its container was launched."""
    core.run(executor_order("one"), "c1")
    executor = executor_of(core)
    core.forked(executor, 5)
    actions = core.subscribed(executor, Call.Subscribe(), 0)
    assert (events(actions), asked(actions)) == (["SUBSCRIBED", "LAUNCH"], [])
    return executor


def test_a_task_is_delivered_when_its_container_has_grown(core: AgentCore, executor: ExecutorRecord) -> None:
    arrived = core.run(executor_order("two"), "unused")
    grown = core.resized(executor)

    assert (events(arrived), asked(arrived)) == ([], [["one", "two"]])
    assert (events(grown), asked(grown)) == (["LAUNCH"], [])


def test_tasks_that_come_before_the_executor_subscribes_are_asked_for_when_its_container_is_there(
    core: AgentCore,
) -> None:
    core.run(executor_order("one"), "c1")
    assert asked(core.run(executor_order("two"), "unused")) == []  # there is no container yet
    executor = executor_of(core)

    assert asked(core.forked(executor, 5)) == [["one", "two"]]
    assert events(core.subscribed(executor, Call.Subscribe(), 0)) == ["SUBSCRIBED", "LAUNCH"]
    assert events(core.resized(executor)) == ["LAUNCH"]


def test_an_end_is_told_and_acknowledged_when_its_container_has_shrunk(
    core: AgentCore, executor: ExecutorRecord
) -> None:
    ended = core.updated(executor, status("one", FINISHED, FIRST))
    again = core.updated(executor, status("one", FINISHED, FIRST))
    late = core.updated(executor, status("one", RUNNING, SECOND))
    shrunk = core.resized(executor)

    assert (reports(ended), events(ended), asked(ended)) == ([], [], [[]])
    assert (reports(again), events(again)) == ([], [])
    assert (reports(late), events(late)) == ([], ["ACKNOWLEDGED"])
    assert (reports(shrunk), events(shrunk)) == ([("one", "TASK_FINISHED", "")], ["ACKNOWLEDGED"])


def test_what_comes_and_goes_during_an_update_is_in_the_next(core: AgentCore, executor: ExecutorRecord) -> None:
    core.run(executor_order("two"), "unused")
    ended = core.updated(executor, status("one", FINISHED, FIRST))
    more = core.run(executor_order("three"), "unused")
    grown = core.resized(executor)

    assert asked(ended) == asked(more) == []
    assert (events(grown), reports(grown), asked(grown)) == (["LAUNCH"], [], [["three", "two"]])
    resized = core.resized(executor)
    assert (events(resized), reports(resized)) == (["ACKNOWLEDGED", "LAUNCH"], [("one", "TASK_FINISHED", "")])


def test_what_its_container_cannot_hold_fails_and_the_others_go_on(core: AgentCore, executor: ExecutorRecord) -> None:
    core.run(executor_order("two"), "unused")

    failed = core.resized(executor, "Requested 1 gpus but only 0 available")
    back = core.resized(executor)

    assert (reports(failed), asked(failed)) == ([], [["one"]])
    text = "Failed to update resources for container: Requested 1 gpus but only 0 available"
    assert reports(back) == [("two", "TASK_FAILED", text)]
    (report,) = [action for action in back if isinstance(action, Report)]
    assert report.status.reason == mesos_pb2.TaskStatus.REASON_CONTAINER_UPDATE_FAILED
    assert events(back) == []


@pytest.mark.parametrize("is_killed", [False, True])
def test_for_no_part_of_a_group_a_container_grows(core: AgentCore, executor: ExecutorRecord, is_killed: bool) -> None:
    grouped = core.run(executor_order("two", "three", is_group=True), "unused")
    assert asked(grouped) == [["one", "three", "two"]]

    failed = core.kill(key("two"), None) if is_killed else []
    failed = [*failed, *core.resized(executor, None if is_killed else "no")]
    back = core.resized(executor)

    assert (reports(failed), asked(failed)) == ([], [["one"]])
    assert [(task_id, state) for task_id, state, _ in reports(back)] == [
        ("two", "TASK_KILLED" if is_killed else "TASK_FAILED"),
        ("three", "TASK_KILLED" if is_killed else "TASK_FAILED"),
    ]
    assert asked(back) == []


def test_a_container_that_cannot_give_back_is_ended_and_its_end_tells_all(
    core: AgentCore, executor: ExecutorRecord
) -> None:
    core.run(executor_order("two"), "unused")
    core.resized(executor)
    core.updated(executor, status("one", FINISHED, FIRST))

    failed = core.resized(executor, "the kernel says no")
    ended = core.ended(executor, Ending(wait_status=9))

    assert any(isinstance(action, KillContainer) for action in failed)
    assert reports(failed) == []
    assert reports(ended) == [
        ("one", "TASK_FINISHED", ""),
        ("two", "TASK_FAILED", "Container update failed: the kernel says no"),
    ]


def test_a_task_that_is_killed_before_its_delivery_is_told_of_when_nothing_is_held_for_it(
    core: AgentCore, executor: ExecutorRecord
) -> None:
    core.run(executor_order("two"), "unused")

    killed = core.kill(key("two"), None)
    grown = core.resized(executor)
    shrunk = core.resized(executor)

    assert reports(killed) == reports(grown) == []
    assert (events(grown), asked(grown)) == ([], [["one"]])
    assert reports(shrunk) == [("two", "TASK_KILLED", "Killed before delivery to the executor")]


def test_an_executor_whose_only_task_is_killed_before_its_container_has_grown_is_ended(core: AgentCore) -> None:
    core.run(executor_order("one"), "c1")
    core.run(executor_order("two"), "unused")
    executor = executor_of(core)
    core.kill(key("one"), None)
    assert asked(core.forked(executor, 5)) == [["two"]]
    assert events(core.subscribed(executor, Call.Subscribe(), 0)) == ["SUBSCRIBED"]

    killed = core.kill(key("two"), None)

    assert any(isinstance(action, KillContainer) for action in killed)


def test_an_executor_that_is_to_end_does_not_grow(core: AgentCore, executor: ExecutorRecord) -> None:
    core.run(executor_order("two"), "unused")
    core.run(executor_order("three"), "unused")
    core.shut_down_executor("f", executor.executor_id, 0)

    assert asked(core.resized(executor)) == [["one"]]


def test_the_end_of_a_container_tells_what_was_kept_back(core: AgentCore, executor: ExecutorRecord) -> None:
    core.updated(executor, status("one", FINISHED, FIRST))

    ended = core.ended(executor, Ending(wait_status=0))

    assert reports(ended) == [("one", "TASK_FINISHED", "")]
    assert core.resized(executor) == []
