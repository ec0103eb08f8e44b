"""The agent's core by random orders of events, where containers are resized as tasks come and go."""

from __future__ import annotations

import pytest
from hypothesis import Phase as Step
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule, run_state_machine_as_test

from tests.agent.core.test_core_machine import SELDOM, Lives
from tests.agent.core_play import build_core
from tfmesos.agent.core import Action, AgentCore, ExecutorRecord, Kind, Phase, Report, StartContainer
from tfmesos.agent.core.actions import UpdateContainer
from tfmesos.wire.text import TERMINAL_STATES


class Resized(Lives):
    """The same with containers that hold what tasks need: `holds` is what each may hold at most, by task ids."""

    def __init__(self) -> None:
        super().__init__()
        self.holds: dict[str, frozenset[str]] = {}
        self.updates: dict[str, frozenset[str]] = {}  # under way

    def build(self) -> AgentCore:
        return build_core(resizes_containers=True)

    def _do(self, actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, StartContainer):
                self.holds[action.executor.container_id] = frozenset(action.executor.tasks)
            elif isinstance(action, UpdateContainer):
                self._update(action)
            super()._do([action])

    def _update(self, action: UpdateContainer) -> None:
        container_id = action.executor.container_id
        assert self.containers.get(container_id) not in (None, "launching"), "only what is there is updated"
        assert container_id not in self.updates, "one update at a time"
        if action.executor.is_ending:
            assert all(record.is_delivered for record in action.tasks), "what is to end does not grow"
        self.updates[container_id] = frozenset(record.key.task_id for record in action.tasks)

    def _launched(self, container_id: str, task_id: str) -> None:
        assert task_id in self.holds[container_id], "delivered to a container that holds what it needs"
        super()._launched(container_id, task_id)

    def _report(self, report: Report) -> None:
        super()._report(report)
        record = report.record
        if record is None or record.executor.kind is Kind.COMMAND or report.status.state not in TERMINAL_STATES:
            return
        container_id = record.executor.container_id
        if container_id in self.containers:
            held = self.holds[container_id] | self.updates.get(container_id, frozenset())
            assert report.key.task_id not in held, "an end is told when the container holds nothing for it"

    @rule(data=st.data(), fails=SELDOM)
    def finish_update(self, data: st.DataObject, fails: bool) -> None:
        if not self.updates:
            return
        container_id = data.draw(st.sampled_from(sorted(self.updates)))
        asked = self.updates.pop(container_id)
        if container_id not in self.containers:  # the end of the container was sooner
            return
        self.holds[container_id] = asked | self.holds[container_id] if fails else asked
        self._do(self.core.resized(self._executor(container_id), "no" if fails else None))

    @rule(happens=SELDOM)
    def restart(self, happens: bool) -> None:
        if happens:
            for container_id, asked in self.updates.items():
                self.holds[container_id] |= asked
            self.updates = {}
        super().restart(happens)

    @invariant()
    def an_end_is_withheld_only_while_the_container_is_about_to_change(self) -> None:
        for executor in self.core.executors():
            if any(record.withheld is not None for record in executor.tasks.values()):
                assert self._is_pending(executor)

    @invariant()
    def what_is_queued_waits_for_the_executor_or_for_its_container(self) -> None:
        for executor in self.core.executors():
            if executor.queue and executor.phase is Phase.RUNNING and executor.is_subscribed:
                assert self._is_pending(executor)

    @invariant()
    def no_executor_that_has_subscribed_goes_on_for_nothing(self) -> None:
        for executor in self.core.executors():
            if executor.phase is Phase.RUNNING and executor.kind is not Kind.COMMAND:
                assert executor.has_worked or executor.queue

    def _is_pending(self, executor: ExecutorRecord) -> bool:
        container_id = executor.container_id
        comes_or_goes = self.containers[container_id] == "launching" or container_id in self.killed
        return container_id in self.updates or comes_or_goes


TestResized = Resized.TestCase
TestResized.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)


class _Hasty(AgentCore):
    """Broken on purpose: takes every container for resized at once."""

    def forked(self, executor: ExecutorRecord, pid: int) -> list[Action]:
        executor.granted = frozenset([*executor.tasks, "a", "b", "c"])
        return super().forked(executor, pid)


def test_the_invariants_find_a_hasty_core() -> None:
    class Broken(Resized):
        def build(self) -> AgentCore:
            return _Hasty(build_core(resizes_containers=True).settings)

    hasty = settings(max_examples=3000, stateful_step_count=40, deadline=None, derandomize=True, phases=[Step.generate])
    with pytest.raises((AssertionError, ExceptionGroup)):
        run_state_machine_as_test(Broken, settings=hasty)
