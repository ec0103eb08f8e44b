"""The agent's core by random orders of events, restarts of the agent among them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import Phase as Step
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tests.agent.core_play import Call, Event, build_core, executor_info, info, status
from tests.agent.in_test_master import command_task
from tfmesos.agent.checkpoint import Fact as KeptFact
from tfmesos.agent.checkpoint.state import CheckpointState
from tfmesos.agent.core import (
    Action,
    AgentCore,
    Clocks,
    Ending,
    ExecutorRecord,
    Found,
    KillContainer,
    Kind,
    OpenGate,
    Order,
    Phase,
    Report,
    SendEvent,
    StartContainer,
    TaskKey,
)
from tfmesos.agent.recovery.recorder import CheckpointRecorder
from tfmesos.wire import internal_pb2, mesos_pb2
from tfmesos.wire.text import TERMINAL_STATES

FRAMEWORKS = ("f", "g")  # f wants checkpoints
TASKS = ("a", "b", "c")
SELDOM = st.sampled_from([True, False, False, False, False, False])
STATES = (mesos_pb2.TASK_STARTING, mesos_pb2.TASK_RUNNING, mesos_pb2.TASK_FINISHED, mesos_pb2.TASK_KILLED)


class MemoryStore:
    """What a checkpoint store keeps, without a disk."""

    def __init__(self) -> None:
        self.state = CheckpointState(3)

    def keep(self, fact: KeptFact) -> None:
        self.state.apply(fact)

    def has_framework(self, framework_id: str) -> bool:
        return framework_id in self.state.sum.frameworks


class Lives(RuleBasedStateMachine):
    """Tasks, executors, containers, kills, acknowledgements, shut-downs, restarts, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.core = self.build()
        self.store = MemoryStore()
        self.recorder = CheckpointRecorder(self.store, clock=lambda: self.now)  # type: ignore[arg-type]
        self.now = 0.0
        self.numbers = itertools.count()
        self.containers: dict[str, str] = {}  # launching, gated or open; those that ended are gone
        self.opened: set[str] = set()
        self.killed: set[str] = set()
        self.told_to_end: set[str] = set()  # had SHUTDOWN
        self.launched: set[tuple[str, str]] = set()  # container, task
        self.ended: dict[tuple[str, str], int] = {}  # terminal reports by container and task
        self.silent: set[str] = set()  # frameworks that are shut down and not yet forgotten
        self.unacknowledged: dict[TaskKey, bytes] = {}

    def build(self) -> AgentCore:
        return build_core()

    frameworks = st.sampled_from(FRAMEWORKS)
    task_ids = st.sampled_from(TASKS)

    def _do(self, actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, Report):
                self._report(action)
            elif isinstance(action, StartContainer):
                self.containers[action.executor.container_id] = "launching"
            elif isinstance(action, OpenGate):
                self._open(action.executor.container_id)
            elif isinstance(action, KillContainer):
                self.killed.add(action.executor.container_id)
            elif isinstance(action, SendEvent):
                self._send(action)
            elif type(action).__name__.startswith(("Keep", "Forget", "Deliver")):
                self.recorder.note(action)  # type: ignore[arg-type]
                self._forget(action)

    def _forget(self, action: Action) -> None:
        if type(action).__name__ == "ForgetFramework":
            framework_id = action.framework.info.id.value  # type: ignore[union-attr]
            self.silent.discard(framework_id)
            self._drop_updates(framework_id)

    def _drop_updates(self, framework_id: str) -> None:
        for key in [key for key in self.unacknowledged if key.framework_id == framework_id]:
            del self.unacknowledged[key]

    def _report(self, report: Report) -> None:
        assert report.key.framework_id not in self.silent, "no report after the framework was shut down"
        made = report.status
        made.uuid = made.uuid or b"%16d" % next(self.numbers)
        update = internal_pb2.StatusUpdate(timestamp=self.now, uuid=made.uuid, status=made)
        update.framework_id.value = report.key.framework_id
        if report.record is None:
            return
        self.recorder.update(update)
        life = (report.record.executor.container_id, report.key.task_id)
        assert not self.ended.get(life), "no report after the terminal one"
        if made.state in TERMINAL_STATES:
            self.ended[life] = 1
            self.unacknowledged[report.key] = made.uuid
        elif self.store.has_framework(report.key.framework_id):
            self.recorder.acknowledged(report.key, made.uuid)

    def _open(self, container_id: str) -> None:
        assert container_id not in self.killed, "never opened after a kill"
        assert container_id not in self.opened, "opened once"
        self.opened.add(container_id)

    def _send(self, action: SendEvent) -> None:
        container_id, event = action.executor.container_id, action.event
        assert container_id in self.containers, "no event after the end"
        if event.type not in (Event.ACKNOWLEDGED, Event.SHUTDOWN):
            assert container_id not in self.told_to_end, "nothing but acknowledgements after SHUTDOWN"
        if event.type == Event.SHUTDOWN:
            self.told_to_end.add(container_id)
        elif event.type == Event.LAUNCH:
            self._launched(container_id, event.launch.task.task_id.value)
        elif event.type == Event.LAUNCH_GROUP:
            for task in event.launch_group.task_group.tasks:
                self._launched(container_id, task.task_id.value)

    def _launched(self, container_id: str, task_id: str) -> None:
        life = (container_id, task_id)
        assert not self.ended.get(life), "never launched after its end"
        assert life not in self.launched, "launched once"
        self.launched.add(life)

    def _executor(self, container_id: str) -> ExecutorRecord:
        return next(found for found in self.core.executors() if found.container_id == container_id)

    @initialize(framework_id=st.none() | frameworks, ids=st.sets(task_ids, min_size=1))
    def begin(self, framework_id: str | None, ids: set[str]) -> None:
        """Most interesting things happen to executors that have work: mostly there is one from the beginning."""
        if framework_id is None:
            return
        for task_id in sorted(ids):
            self._run_on_executor(framework_id, {task_id}, False, None)
        (executor,) = self.core.executors()
        self.containers[executor.container_id] = "gated"
        self._do(self.core.forked(executor, 100))
        self._run_program(executor.container_id)
        self._do(self.core.subscribed(executor, Call.Subscribe(), self.now))

    @rule(framework_id=frameworks, task_id=task_ids, overdue=st.booleans())
    def run_command(self, framework_id: str, task_id: str, overdue: bool) -> None:
        task = command_task(task_id)
        if overdue:
            task.max_completion_time.nanoseconds = 10**9
        framework = info(framework_id, checkpoint=framework_id == "f")
        self._run(Order(framework=framework, tasks=(task,)))

    @rule(
        framework_id=frameworks,
        ids=st.sets(task_ids, min_size=1),
        is_group=st.booleans(),
        launches=st.none() | st.booleans(),
    )
    def run_on_executor(self, framework_id: str, ids: set[str], is_group: bool, launches: bool | None) -> None:
        self._run_on_executor(framework_id, ids, is_group, launches)

    def _run_on_executor(self, framework_id: str, ids: set[str], is_group: bool, launches: bool | None) -> None:
        chosen = sorted(ids) if is_group else sorted(ids)[:1]
        self._run(
            Order(
                framework=info(framework_id, checkpoint=framework_id == "f"),
                tasks=tuple(command_task(task_id) for task_id in chosen),
                executor=executor_info("e", "DEFAULT"),
                is_group=is_group,
                launches_executor=launches,
            )
        )

    def _run(self, order: Order) -> None:
        executor = self.core.find_executor(order.framework.id.value, order.executor_id)
        for task in order.tasks:
            if executor is not None and task.task_id.value not in executor.tasks:
                life = (executor.container_id, task.task_id.value)  # an id may come again once its end is acknowledged
                self.ended.pop(life, None)
                self.launched.discard(life)
        self._do(self.core.run(order, f"c{next(self.numbers)}"))

    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        container_id = self._pick(data, "launching")
        if container_id:
            self.containers[container_id] = "gated"
            executor = self._executor(container_id)
            self._do(self.core.forked(executor, 100))
            if container_id in self.opened and data.draw(st.booleans()):
                self._run_program(container_id)
                if executor.kind is not Kind.COMMAND:
                    self._do(self.core.subscribed(executor, Call.Subscribe(), self.now))

    @rule(data=st.data())
    def open(self, data: st.DataObject) -> None:
        container_id = self._pick(data, "gated")
        if container_id and container_id in self.opened:
            self._run_program(container_id)

    def _run_program(self, container_id: str) -> None:
        self.containers[container_id] = "open"
        self._do(self.core.opened(self._executor(container_id), self.now))

    @rule(data=st.data(), happens=SELDOM)
    def fail(self, data: st.DataObject, happens: bool) -> None:
        container_id = self._pick(data, "launching")
        if container_id and happens:
            del self.containers[container_id]
            self._do(self.core.failed(self._executor(container_id), "no"))

    @rule(data=st.data(), wait_status=st.sampled_from([0, 256, 9, None]), happens=SELDOM)
    def end(self, data: st.DataObject, wait_status: int | None, happens: bool) -> None:
        container_id = self._pick(data, "gated", "open")
        if container_id and (happens or container_id in self.killed):
            executor = self._executor(container_id)
            tasks = list(executor.tasks)
            is_silent = executor.framework.is_ending
            del self.containers[container_id]
            self._do(self.core.ended(executor, Ending(wait_status=wait_status)))
            assert is_silent or all(self.ended[container_id, task_id] == 1 for task_id in tasks)

    @rule(data=st.data(), heard=st.booleans())
    def subscribe(self, data: st.DataObject, heard: bool) -> None:
        executor = self._pick_executor(data)
        if executor is not None:
            call = Call.Subscribe()
            if heard:
                call.unacknowledged_tasks.extend(command_task(task_id) for task_id in executor.tasks)
            self._do(self.core.subscribed(executor, call, self.now))

    @rule(data=st.data(), state=st.sampled_from(STATES))
    def update(self, data: st.DataObject, state: mesos_pb2.TaskState.ValueType) -> None:
        executor = self._pick_executor(data)
        if executor is None or executor.phase is Phase.REGISTERING:
            return
        known = sorted(executor.tasks)
        if known:  # also tasks that it was never given
            made = status(data.draw(st.sampled_from(known)), state, b"%16d" % next(self.numbers))
            self._do(self.core.updated(executor, made))

    @rule(data=st.data())
    def lose_stream(self, data: st.DataObject) -> None:
        executor = self._pick_executor(data)
        if executor is not None and executor.is_subscribed:
            self._do(self.core.stream_lost(executor, self.now))

    @rule(framework_id=frameworks, task_id=task_ids, grace_s=st.none() | st.floats(0, 2))
    def kill(self, framework_id: str, task_id: str, grace_s: float | None) -> None:
        self._do(self.core.kill(TaskKey(framework_id, task_id), grace_s))

    @rule(framework_id=frameworks)
    def shut_down_executor(self, framework_id: str) -> None:
        if any(found.kind is not Kind.COMMAND and found.has_worked for found in self.core.executors()):
            self._do(self.core.shut_down_executor(framework_id, "e", self.now))

    @rule(framework_id=frameworks, happens=SELDOM)
    def shut_down_framework(self, framework_id: str, happens: bool) -> None:
        if not happens:
            return
        if framework_id in self.core.frameworks:
            self.silent.add(framework_id)
            self._drop_updates(framework_id)
        self._do(self.core.shut_down_framework(framework_id, self.now))

    @rule(data=st.data())
    def acknowledge(self, data: st.DataObject) -> None:
        if self.unacknowledged:
            key = data.draw(st.sampled_from(sorted(self.unacknowledged)))
            self.recorder.acknowledged(key, self.unacknowledged.pop(key))
            self._do(self.core.acknowledged(key))

    @rule(happens=SELDOM)
    def drain(self, happens: bool) -> None:
        if happens:
            self._do(self.core.drain(mesos_pb2.DrainConfig(), self.now))

    @rule(seconds=st.sampled_from([0.1, 0.5, 1, 3, 10, 70]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self._do(self.core.tick(self.now))

    @rule(happens=SELDOM)
    def restart(self, happens: bool) -> None:
        """The agent is killed and starts again: what has no checkpoint is gone, launches under way never were."""
        if not happens:
            return
        gone = {found.container_id for found in self.core.executors() if found.framework_id == "g"}
        left = {name: state for name, state in self.containers.items() if name not in gone}
        found = {
            name: Found(pid=100, has_started=state == "open" or name in self.opened)
            for name, state in left.items()
            if state != "launching"
        }
        self.containers = {name: "open" if found[name].has_started else "gated" for name in found}
        self.silent.discard("g")
        self._drop_updates("g")
        self.core = self.build()
        self._do(self.core.restore(self.store.state.copy(), found, Clocks(now=self.now, wall=self.now)))
        for executor in list(self.core.executors()):
            if executor.container_id not in found and executor.has_container:
                self._do(self.core.ended(executor, Ending(wait_status=None)))

    def _pick(self, data: st.DataObject, *states: str) -> str | None:
        names = [name for name, state in self.containers.items() if state in states]
        return data.draw(st.sampled_from(names)) if names else None

    def _pick_executor(self, data: st.DataObject) -> ExecutorRecord | None:
        """One whose program runs and may call."""
        names = [name for name, state in self.containers.items() if state == "open"]
        running = [found for name in names if (found := self._executor(name)).kind is not Kind.COMMAND]
        return data.draw(st.sampled_from(running)) if running else None

    @invariant()
    def what_is_remembered_has_a_container_or_an_unacknowledged_end(self) -> None:
        for executor in self.core.executors():
            waiting = [
                task_id for task_id in executor.tasks if TaskKey(executor.framework_id, task_id) in self.unacknowledged
            ]
            assert executor.container_id in self.containers or waiting

    @invariant()
    def every_unacknowledged_end_is_remembered(self) -> None:
        assert all(self.core.find(key) is not None for key in self.unacknowledged)

    @invariant()
    def every_container_is_remembered(self) -> None:
        assert set(self.containers) <= {executor.container_id for executor in self.core.executors()}

    @invariant()
    def every_task_belongs_to_its_executor_and_framework(self) -> None:
        for framework in self.core.frameworks.values():
            tasks = [record for executor in framework.executors.values() for record in executor.tasks.values()]
            assert sorted(framework.tasks) == sorted(record.key.task_id for record in tasks)

    @invariant()
    def patience_has_an_end(self) -> None:
        """The agent waits without limit only for executors that it can talk to, or that it makes itself."""
        for executor in self.core.executors():
            if executor.kind is not Kind.COMMAND and executor.phase is Phase.REGISTERING:
                assert executor.deadline is not None or self.containers[executor.container_id] != "open"


TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)


class _Forgetful(AgentCore):
    """Broken on purpose: a kill is reported as the end at once, and the end again."""

    def kill(self, key: TaskKey, grace_s: float | None) -> list[Action]:
        record = self.find(key)
        if record is None:
            return super().kill(key, grace_s)
        return [Report(key=key, status=status(key.task_id, mesos_pb2.TASK_KILLED), record=record)]


def test_the_invariants_find_a_broken_core() -> None:
    class Broken(Lives):
        def build(self) -> AgentCore:
            return _Forgetful(build_core().settings)

    hasty = settings(max_examples=3000, stateful_step_count=40, deadline=None, derandomize=True, phases=[Step.generate])
    with pytest.raises((AssertionError, ExceptionGroup)):
        run_state_machine_as_test(Broken, settings=hasty)
