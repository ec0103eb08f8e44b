"""The executor's session in any order of events."""

from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tfmesos.client._executor_moves import (
    Action,
    CallOver,
    Disconnect,
    EventArrived,
    Failed,
    Finish,
    LeaveWanted,
    Refused,
    Send,
    StartTimer,
    StopTimer,
    Subscribe,
    Timer,
    TimerFired,
    UpdateWanted,
)
from tfmesos.client._executor_session import ExecutorSession, State
from tfmesos.client.executor_environment import ExecutorEnvironment
from tfmesos.transport import TcpAddress
from tfmesos.wire import executor_pb2, mesos_pb2

Event = executor_pb2.Event


class SessionMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        environment = ExecutorEnvironment(
            framework_id="f", executor_id="e", agent=TcpAddress("h", 1), sandbox="/", does_checkpoint=True
        )
        self.session = ExecutorSession(environment, Random(0))
        self.timers: set[Timer] = set()
        self.is_connecting = False
        self.told: set[bytes] = set()
        """What the agent of the present connection was told."""
        self.wanted: set[bytes] = set()
        """What no agent has acknowledged."""
        self.under_way = 0
        self.is_leaving = False
        self.finished = 0
        self.count = 0
        self.perform(self.session.start())

    def perform(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Subscribe(call):
                    assert not self.is_connecting
                    self.is_connecting = True
                    self.told = {update.status.uuid for update in call.subscribe.unacknowledged_updates}
                case Disconnect():
                    self.is_connecting = False
                    self.told = set()
                    self.under_way = 0
                case Send(call):
                    assert call.update.status.uuid not in self.told, "told twice"
                    self.told.add(call.update.status.uuid)
                    self.under_way += 1
                case StartTimer(timer, delay_s):
                    assert delay_s >= 0
                    self.timers.add(timer)
                case StopTimer(timer):
                    self.timers.discard(timer)
                case Finish():
                    self.finished += 1

    @rule()
    def update(self) -> None:
        self.count += 1
        uuid = self.count.to_bytes(16, "big")
        if self.session.state is not State.ENDED:
            self.wanted.add(uuid)
        status = mesos_pb2.TaskStatus(uuid=uuid, state=mesos_pb2.TASK_RUNNING, task_id=mesos_pb2.TaskID(value="t"))
        self.perform(self.session.handle(UpdateWanted(status)))

    @precondition(lambda self: self.is_connecting and self.session.state is State.CONNECTING)
    @rule()
    def subscribe(self) -> None:
        self.perform(self.session.handle(EventArrived(Event(type=Event.SUBSCRIBED))))

    @precondition(lambda self: self.session.state is State.SUBSCRIBED and self.told & self.wanted)
    @rule(data=st.data())
    def acknowledge(self, data: st.DataObject) -> None:
        uuid = data.draw(st.sampled_from(sorted(self.told & self.wanted)))
        self.wanted.discard(uuid)
        event = Event(type=Event.ACKNOWLEDGED)
        event.acknowledged.uuid, event.acknowledged.task_id.value = uuid, "t"
        self.perform(self.session.handle(EventArrived(event)))

    @precondition(lambda self: self.under_way)
    @rule()
    def answer(self) -> None:
        self.under_way -= 1
        self.perform(self.session.handle(CallOver()))

    @rule()
    def leave(self) -> None:
        self.is_leaving = self.session.state is State.CLOSING
        self.perform(self.session.handle(LeaveWanted()))

    @rule()
    def fail(self) -> None:
        self.perform(self.session.handle(Failed("x")))

    @precondition(lambda self: self.is_connecting)
    @rule()
    def recovering(self) -> None:
        self.perform(self.session.handle(Refused(503, "")))

    @precondition(lambda self: self.is_connecting)
    @rule()
    def shut_down(self) -> None:
        self.perform(self.session.handle(EventArrived(Event(type=Event.SHUTDOWN))))

    @precondition(lambda self: self.timers)
    @rule(data=st.data())
    def fire(self, data: st.DataObject) -> None:
        timer = data.draw(st.sampled_from(sorted(self.timers, key=lambda timer: timer.value)))
        self.timers.discard(timer)
        self.perform(self.session.handle(TimerFired(timer)))

    @invariant()
    def nothing_is_forgotten(self) -> None:
        if self.session.state is not State.ENDED:
            assert self.session.unacknowledged == len(self.wanted)
        if self.session.state is State.SUBSCRIBED:
            assert self.wanted <= self.told

    @invariant()
    def it_always_goes_on_or_has_finished_once(self) -> None:
        assert self.finished == (self.session.state is State.ENDED)
        assert self.finished or self.is_connecting or self.timers
        assert not (self.finished and self.timers)

    @invariant()
    def who_wants_to_leave_waits_for_calls_only(self) -> None:
        if self.is_leaving and not self.finished:
            assert self.under_way

    @invariant()
    def a_lost_agent_is_not_waited_for_for_ever(self) -> None:
        if self.session.state is State.CLOSING:
            assert Timer.OVERDUE in self.timers


SessionMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
test_session = SessionMachine.TestCase
