"""The life of tasks, by random orders of events."""

from __future__ import annotations

import pytest
from hypothesis import Phase as Step
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.agent.in_test_master import KILLING_STATE, command_task, framework
from tfmesos.agent.status_updates import TaskKey
from tfmesos.agent.task_records import Phase, TaskRecord
from tfmesos.agent.tasks import (
    Action,
    Ending,
    ForgetFramework,
    KillContainer,
    Report,
    StartContainer,
    Tasks,
    ending_text,
    grace_of,
)
from tfmesos.wire import mesos_pb2
from tfmesos.wire.text import TERMINAL_STATES

FRAMEWORKS = ("f", "g")
TASKS = ("a", "b", "c")


def info(framework_id: str) -> mesos_pb2.FrameworkInfo:
    made = framework(KILLING_STATE)
    made.id.value = framework_id
    return made


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
    assert ending_text(wait_status) == text


def test_the_kill_grace_is_the_tasks_own_or_three_seconds() -> None:
    task = command_task("a")
    assert grace_of(task) == 3
    task.kill_policy.grace_period.nanoseconds = 1_500_000_000
    assert grace_of(task) == 1.5


def test_a_kill_before_the_container_is_there_is_reported_at_once() -> None:
    tasks = Tasks(1, 1)
    tasks.run(info("f"), command_task("a"), "c1")

    (report,) = tasks.kill(TaskKey("f", "a"), None)

    assert isinstance(report, Report)
    assert (report.state, report.reason) == (
        mesos_pb2.TASK_KILLED,
        mesos_pb2.TaskStatus.REASON_TASK_KILLED_DURING_LAUNCH,
    )
    assert report.message == "Killed before delivery to the executor"
    assert report.record is not None
    assert tasks.forked(report.record, 5) == [KillContainer(record=report.record, grace_s=0.0)]


def test_a_lost_supervisor_fails_the_task_as_a_lost_executor() -> None:
    tasks = Tasks(1, 1)
    tasks.run(info("f"), command_task("a"), "c1")
    record = tasks.find(TaskKey("f", "a"))
    assert record is not None
    tasks.forked(record, 5)
    tasks.opened(record, 0)

    (report,) = tasks.ended(record, Ending(wait_status=None, message="its supervisor was lost"))

    assert isinstance(report, Report)
    assert report.message == "Executor terminated; its supervisor was lost"
    assert report.reason == mesos_pb2.TaskStatus.REASON_EXECUTOR_TERMINATED
    assert report.source == mesos_pb2.TaskStatus.SOURCE_AGENT


def running(tasks: Tasks, container_id: str, task: mesos_pb2.TaskInfo) -> TaskRecord:
    tasks.run(info("f"), task, container_id)
    record = tasks.find(TaskKey("f", task.task_id.value))
    assert record is not None
    tasks.forked(record, 5)
    tasks.opened(record, 0)
    return record


def test_the_time_limit_of_an_ended_task_does_not_end_the_next_of_its_id() -> None:
    tasks = Tasks(1, 1)
    limited = command_task("a")
    limited.max_completion_time.nanoseconds = 10**9
    first = running(tasks, "c1", limited)
    tasks.ended(first, Ending(wait_status=0))
    tasks.acknowledged(first.key)
    running(tasks, "c2", command_task("a"))

    assert tasks.tick(2) == []
    assert tasks.deadline() is None


def test_an_id_whose_container_still_ends_is_dropped_with_a_report() -> None:
    tasks = Tasks(1, 1)
    tasks.run(info("f"), command_task("a"), "c1")
    tasks.kill(TaskKey("f", "a"), None)  # before the container was there: it is still under way
    tasks.acknowledged(TaskKey("f", "a"))

    (report,) = tasks.run(info("f"), command_task("a"), "c2")

    assert isinstance(report, Report)
    assert (report.state, report.record) == (mesos_pb2.TASK_LOST, None)
    assert (report.message, report.reason) == (
        "Executor terminating",
        mesos_pb2.TaskStatus.REASON_EXECUTOR_TERMINATED,
    )


class Lives(RuleBasedStateMachine):
    """Tasks, containers, kills, acknowledgements and shut-downs, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks = self.build()
        self.now = 0.0
        self.number = 0
        self.containers: dict[str, TaskRecord] = {}  # started and not ended
        self.forked: set[str] = set()
        self.opened: set[str] = set()
        self.killed: set[str] = set()
        self.ended: dict[str, int] = {}  # how many terminal reports a container's task has had
        self.silent: set[str] = set()
        self.unacknowledged: set[TaskKey] = set()

    def build(self) -> Tasks:
        return Tasks(3, 5)

    frameworks = st.sampled_from(FRAMEWORKS)
    task_ids = st.sampled_from(TASKS)

    def _follow(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case StartContainer():
                    self.containers[action.record.container_id] = action.record
                case KillContainer():
                    self.killed.add(action.record.container_id)
                case Report() if action.record is not None:
                    self._reported(action, action.record.container_id)
                case ForgetFramework():
                    self.unacknowledged -= {key for key in self.unacknowledged if key[0] == action.framework_id}
                case _:
                    pass

    def _reported(self, report: Report, container_id: str) -> None:
        assert container_id not in self.silent, "no report after the framework was shut down"
        assert not self.ended.get(container_id), "no report after the terminal one"
        if report.state in TERMINAL_STATES:
            self.ended[container_id] = self.ended.get(container_id, 0) + 1
            self.unacknowledged.add(report.key)

    @rule(framework_id=frameworks, task_id=task_ids, overdue=st.booleans())
    def run(self, framework_id: str, task_id: str, overdue: bool) -> None:
        self.number += 1
        task = command_task(task_id)
        if overdue:
            task.max_completion_time.nanoseconds = 10**9
        self._follow(self.tasks.run(info(framework_id), task, f"c{self.number}"))

    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        record = self._pick(data, lambda name: name not in self.forked)
        if record is not None:
            self.forked.add(record.container_id)
            self._follow(self.tasks.forked(record, 100))

    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        record = self._pick(data, lambda name: name not in self.forked)
        if record is not None:
            del self.containers[record.container_id]
            self._follow(self.tasks.failed(record, "no"))

    @rule(data=st.data())
    def open(self, data: st.DataObject) -> None:
        record = self._pick(data, lambda name: name in self.forked and name not in self.opened)
        if record is not None and record.phase is Phase.GATED:
            assert record.container_id not in self.killed, "never opened after a kill"
            self.opened.add(record.container_id)
            self._follow(self.tasks.opened(record, self.now))

    @rule(data=st.data(), wait_status=st.sampled_from([0, 256, 9, None]))
    def end(self, data: st.DataObject, wait_status: int | None) -> None:
        record = self._pick(data, lambda name: name in self.forked)
        if record is not None:
            del self.containers[record.container_id]
            self._follow(self.tasks.ended(record, Ending(wait_status=wait_status)))
            assert record.container_id in self.silent or self.ended[record.container_id] == 1

    @rule(framework_id=frameworks, task_id=task_ids)
    def kill(self, framework_id: str, task_id: str) -> None:
        self._follow(self.tasks.kill(TaskKey(framework_id, task_id), None))

    @rule(framework_id=frameworks)
    def shut_down(self, framework_id: str) -> None:
        for record in self.tasks.records():
            if record.key.framework_id == framework_id:
                self.silent.add(record.container_id)
        self._follow(self.tasks.shut_down_framework(framework_id, 3))

    @rule(data=st.data())
    def acknowledge(self, data: st.DataObject) -> None:
        if self.unacknowledged:
            key = data.draw(st.sampled_from(sorted(self.unacknowledged)))
            self.unacknowledged.discard(key)
            self._follow(self.tasks.acknowledged(key))

    @rule(seconds=st.floats(0, 3))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self._follow(self.tasks.tick(self.now))

    def _pick(self, data: st.DataObject, accept: object) -> TaskRecord | None:
        assert callable(accept)
        names = [name for name in self.containers if accept(name)]
        return self.containers[data.draw(st.sampled_from(names))] if names else None

    @invariant()
    def no_task_has_two_terminal_reports(self) -> None:
        assert all(count == 1 for count in self.ended.values())

    @invariant()
    def what_is_remembered_has_a_container_or_an_unacknowledged_end(self) -> None:
        for record in self.tasks.records():
            assert record.container_id in self.containers or record.key in self.unacknowledged

    @invariant()
    def every_container_is_remembered(self) -> None:
        remembered = {record.container_id for record in self.tasks.records()}
        assert set(self.containers) <= remembered


TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


class _Forgetful(Tasks):
    """Broken on purpose: a kill is reported as the end at once, and the end again."""

    def kill(self, key: TaskKey, grace_s: float | None) -> list[Action]:
        record = self.find(key)
        if record is None:
            return super().kill(key, grace_s)
        return [
            Report(
                key=key,
                executor_id=key.task_id,
                state=mesos_pb2.TASK_KILLED,
                source=mesos_pb2.TaskStatus.SOURCE_EXECUTOR,
                record=record,
            )
        ]


def test_the_invariants_find_a_broken_core() -> None:
    class Broken(Lives):
        def build(self) -> Tasks:
            return _Forgetful(3, 5)

    hasty = settings(max_examples=300, stateful_step_count=40, deadline=None, derandomize=True, phases=[Step.generate])
    with pytest.raises((AssertionError, ExceptionGroup)):
        run_state_machine_as_test(Broken, settings=hasty)
