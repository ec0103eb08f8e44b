"""The default executor's core in any order of events."""

from signal import SIGKILL, SIGTERM

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.executors.builders import EXIT_0, EXIT_3, build_core, result, task
from tfmesos.executors.default.moves import (
    Action,
    Forget,
    GroupArrived,
    KillArrived,
    Launch,
    Launched,
    LaunchRefused,
    Signal,
    StartTimer,
    Timer,
    TimerFired,
    Update,
    Wait,
    Waited,
)
from tfmesos.wire import mesos_pb2
from tfmesos.wire.text import TERMINAL_STATES


class ExecutorMachine(RuleBasedStateMachine):
    """Named invariants: one terminal status each, legal orders of states, no group survives its failure."""

    def __init__(self) -> None:
        super().__init__()
        self.core = build_core()
        self.now = 0.0
        self.count = 0
        self.story: dict[str, list[int]] = {}
        self.groups: list[list[str]] = []
        self.tasks: dict[str, str] = {}
        """Task by container."""
        self.launching: set[str] = set()
        self.waiting: set[str] = set()
        self.timers: set[tuple[str, Timer]] = set()
        self.signalled: dict[str, int] = {}

    def perform(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Update(status):
                    self.story.setdefault(status.task_id.value, []).append(status.state)
                case Launch(launch):
                    self.launching.add(launch.container_id.value)
                case Wait(container_id):
                    self.waiting.add(container_id.value)
                case Signal(container_id, number):
                    self.signalled[container_id.value] = number
                case StartTimer(container, timer, delay_s):
                    assert delay_s >= 0
                    self.timers.add((container, timer))
                case Forget(container):
                    self.timers -= {(container, timer) for timer in Timer}

    def handle(self, event: GroupArrived | KillArrived | Launched | LaunchRefused | Waited | TimerFired) -> None:
        self.now += 0.5
        self.perform(self.core.handle(event, self.now))

    @rule(size=st.integers(1, 3))
    def launch_group(self, size: int) -> None:
        ids = [f"t{self.count + number}" for number in range(size)]
        self.count += size
        self.groups.append(ids)
        before = set(self.launching)
        self.handle(GroupArrived([task(id_) for id_ in ids]))
        new = sorted(self.launching - before, key=lambda container: int(container[1:]))
        self.tasks |= dict(zip(new, ids, strict=True))

    @precondition(lambda self: self.tasks)
    @rule(data=st.data(), grace_s=st.sampled_from([None, 0.0, 1.0]))
    def kill(self, data: st.DataObject, grace_s: float | None) -> None:
        self.handle(KillArrived(data.draw(st.sampled_from(sorted(self.tasks.values()))), grace_s))

    @precondition(lambda self: self.launching)
    @rule(data=st.data(), is_refused=st.booleans())
    def answer_launch(self, data: st.DataObject, is_refused: bool) -> None:
        container = data.draw(st.sampled_from(sorted(self.launching)))
        self.launching.discard(container)
        self.handle(LaunchRefused(container, "no") if is_refused else Launched(container))

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), wait_status=st.sampled_from([EXIT_0, EXIT_3, int(SIGTERM)]))
    def end(self, data: st.DataObject, wait_status: int) -> None:
        container = data.draw(st.sampled_from(sorted(self.waiting)))
        self.waiting.discard(container)
        self.handle(Waited(container, result(wait_status)))

    @precondition(lambda self: self.timers)
    @rule(data=st.data())
    def fire(self, data: st.DataObject) -> None:
        container, timer = data.draw(st.sampled_from(sorted(self.timers, key=str)))
        self.timers.discard((container, timer))
        self.handle(TimerFired(container, timer))
        assert self.signalled[container] == SIGKILL

    @invariant()
    def every_task_tells_a_legal_story(self) -> None:
        starting, running, killing = mesos_pb2.TASK_STARTING, mesos_pb2.TASK_RUNNING, mesos_pb2.TASK_KILLING
        for story in self.story.values():
            assert story[0] == starting
            assert sum(state in TERMINAL_STATES for state in story) <= 1
            assert all(state not in TERMINAL_STATES for state in story[:-1])
            assert story == sorted(story, key=lambda state: (starting, running, killing, state).index(state))

    @invariant()
    def every_task_that_is_not_over_can_still_end(self) -> None:
        over = {id_ for id_, story in self.story.items() if story[-1] in TERMINAL_STATES}
        assert {self.tasks[container] for container in self.launching | self.waiting} == set(self.tasks.values()) - over
        assert set(self.core.tasks) == set(self.tasks.values()) - over

    @invariant()
    def no_group_goes_on_after_a_failure(self) -> None:
        for ids in self.groups:
            ends = {self.story[id_][-1] for id_ in ids}
            if ends & (TERMINAL_STATES - {mesos_pb2.TASK_FINISHED}):
                assert not ends & {mesos_pb2.TASK_STARTING, mesos_pb2.TASK_RUNNING}

    @invariant()
    def whoever_is_being_killed_was_signalled(self) -> None:
        for container in self.launching | self.waiting:
            if self.story[self.tasks[container]][-1] == mesos_pb2.TASK_KILLING:
                assert self.signalled[container] == SIGKILL or (container, Timer.GRACE) in self.timers


ExecutorMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
test_any_order = ExecutorMachine.TestCase
