"""The streams of status updates, by examples and by random orders of events."""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tfmesos.agent.core import TaskKey
from tfmesos.agent.core.updates import StatusUpdates
from tfmesos.wire import internal_pb2, mesos_pb2

RUNNING, FINISHED = mesos_pb2.TASK_RUNNING, mesos_pb2.TASK_FINISHED
KEY = TaskKey("f", "t")


def update(
    number: int, state: mesos_pb2.TaskState.ValueType = RUNNING, key: TaskKey = KEY
) -> internal_pb2.StatusUpdate:
    made = internal_pb2.StatusUpdate(uuid=number.to_bytes(16, "big"), timestamp=0)
    made.framework_id.value = key.framework_id
    made.status.task_id.value = key.task_id
    made.status.state = state
    made.status.uuid = made.uuid
    return made


def resumed() -> StatusUpdates:
    updates = StatusUpdates()
    updates.resume(0)
    return updates


def test_nothing_is_sent_before_the_agent_is_registered() -> None:
    updates = StatusUpdates()

    assert updates.add(update(1), 0) is None
    assert updates.deadline() is None
    assert [item.uuid for item in updates.resume(1)] == [update(1).uuid]


def test_the_next_update_waits_for_the_acknowledgement_of_the_first() -> None:
    updates = resumed()
    updates.add(update(1), 0)

    assert updates.add(update(2, FINISHED), 0) is None

    sent = updates.acknowledge(KEY, update(1).uuid, 0).send
    assert sent is not None
    assert sent.uuid == update(2).uuid
    assert updates.acknowledge(KEY, update(2).uuid, 0).ended
    assert not list(updates.keys())


def test_retries_come_after_10_20_40_seconds_and_at_last_every_10_minutes() -> None:
    updates = resumed()
    updates.add(update(1), 0)
    waits, now = [], 0.0
    for _ in range(8):
        due = updates.deadline()
        assert due is not None
        waits.append(due - now)
        now = due
        assert [item.uuid for item in updates.retry(now)] == [update(1).uuid]

    assert waits == [10, 20, 40, 80, 160, 320, 600, 600]


def test_a_retry_tells_the_latest_state() -> None:
    updates = resumed()
    updates.add(update(1), 0)
    updates.add(update(2, FINISHED), 1)

    (again,) = updates.retry(10)

    assert (again.status.state, again.latest_state) == (RUNNING, FINISHED)


def test_a_strange_acknowledgement_changes_nothing() -> None:
    updates = resumed()
    updates.add(update(1), 0)

    assert not updates.acknowledge(KEY, update(2).uuid, 0).fitted
    assert not updates.acknowledge(TaskKey("f", "other"), update(1).uuid, 0).fitted
    assert updates.head(KEY) is not None


def test_nothing_may_follow_a_terminal_update() -> None:
    updates = resumed()
    updates.add(update(1, FINISHED), 0)

    with pytest.raises(ValueError, match="has had its terminal update"):
        updates.add(update(2), 0)


def test_a_framework_that_is_gone_takes_its_streams_along() -> None:
    updates = resumed()
    updates.add(update(1), 0)
    updates.add(update(2, key=TaskKey("g", "t")), 0)

    updates.forget_framework("f")

    assert list(updates.keys()) == [TaskKey("g", "t")]
    assert len(updates.retry(10)) == 1


def test_many_acknowledged_updates_are_forgotten_behind_one_that_is_not() -> None:
    updates = resumed()
    updates.add(update(1, key=TaskKey("f", "stuck")), 0)
    for _ in range(10):
        updates.retry(updates.deadline() or 0)
    for number in range(2, 4000):
        updates.add(update(number), 1000)
        updates.acknowledge(KEY, update(number).uuid, 1000)

    assert [item.uuid for item in updates.retry(10_000)] == [update(1).uuid]
    assert len(updates._retries) < 2000


class Streams(RuleBasedStateMachine):
    """Updates, acknowledgements, lost registrations and time, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.updates = self.build()
        self.now = 0.0
        self.number = 0
        self.is_registered = False
        self.queued: dict[TaskKey, list[bytes]] = {}  # not yet acknowledged, in order
        self.ended: set[TaskKey] = set()
        self.outstanding: dict[TaskKey, bytes] = {}  # sent since the last registration, not acknowledged
        self.acknowledged: list[bytes] = []

    def build(self) -> StatusUpdates:
        return StatusUpdates()

    keys = st.sampled_from([TaskKey("f", "a"), TaskKey("f", "b"), TaskKey("g", "a")])

    def _sent(self, sent: internal_pb2.StatusUpdate | None) -> None:
        if sent is None:
            return
        key = TaskKey(sent.framework_id.value, sent.status.task_id.value)
        assert self.is_registered, "nothing is sent while not registered"
        assert sent.uuid == self.queued[key][0], "in order"
        assert self.outstanding.get(key, sent.uuid) == sent.uuid, "no two outstanding of one stream"
        self.outstanding[key] = sent.uuid

    @rule(key=keys, terminal=st.booleans())
    def add(self, key: TaskKey, terminal: bool) -> None:
        if key in self.ended:
            return
        self.number += 1
        made = update(self.number, FINISHED if terminal else RUNNING, key)
        self.queued.setdefault(key, []).append(made.uuid)
        if terminal:
            self.ended.add(key)
        self._sent(self.updates.add(made, self.now))

    @rule(key=keys)
    def acknowledge(self, key: TaskKey) -> None:
        uuid = self.outstanding.pop(key, None)
        if uuid is None:
            return
        assert self.queued[key].pop(0) == uuid
        done = self.updates.acknowledge(key, uuid, self.now)
        assert done.fitted
        assert uuid not in self.acknowledged, "acknowledged once"
        self.acknowledged.append(uuid)
        self._sent(done.send)
        assert done.ended == (key in self.ended and not self.queued[key])
        if done.ended:
            self.ended.discard(key)
        assert not self.updates.acknowledge(key, uuid, self.now).fitted, "the same again fits nothing"

    @rule()
    def lose_registration(self) -> None:
        self.is_registered = False
        self.updates.pause()

    @rule()
    def register(self) -> None:
        self.is_registered = True
        sent = self.updates.resume(self.now)
        for item in sent:
            self._sent(item)
        assert len(sent) == len([queue for queue in self.queued.values() if queue]), "all heads are sent again"

    @precondition(lambda self: self.is_registered)
    @rule(seconds=st.floats(0.1, 700))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        for item in self.updates.retry(self.now):
            self._sent(item)

    @invariant()
    def every_outstanding_update_will_be_retried(self) -> None:
        deadline = self.updates.deadline()
        waits = self.is_registered and any(self.outstanding.values())
        assert (deadline is not None) == bool(waits)


TestStreams = Streams.TestCase
TestStreams.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


class _Hasty(StatusUpdates):
    """Broken on purpose: sends without waiting for the acknowledgement."""

    def add(self, update: internal_pb2.StatusUpdate, now: float) -> internal_pb2.StatusUpdate | None:
        super().add(update, now)
        return None if self.is_paused else update


def test_the_invariants_find_a_broken_core() -> None:
    class Broken(Streams):
        def build(self) -> StatusUpdates:
            return _Hasty()

    hasty = settings(
        max_examples=3000, stateful_step_count=20, deadline=None, derandomize=True, phases=[Phase.generate]
    )
    with pytest.raises((AssertionError, ExceptionGroup)):
        run_state_machine_as_test(Broken, settings=hasty)
