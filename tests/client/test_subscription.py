"""The subscription's state machine under every order of events, and a broken one that must be found out."""

from random import Random

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tfmesos.client._moves import (
    Action,
    Answered,
    ConnectingFailed,
    Deliver,
    Detect,
    DetectionFailed,
    Disconnect,
    EventArrived,
    Finish,
    Input,
    LeaderDetected,
    LeaveFinished,
    LeaveStarted,
    StartTimer,
    StopTimer,
    StreamEnded,
    Subscribe,
    Target,
    Timer,
    TimerFired,
    parse_location,
)
from tfmesos.client._subscription import MISSED_HEARTBEATS, PATH, IllegalTransition, State, Subscription
from tfmesos.client.errors import MasterUnreachable, NotAMaster, SubscriptionRejected
from tfmesos.discovery import Leader, Stranger
from tfmesos.transport import TcpAddress, UnixAddress
from tfmesos.wire import mesos_pb2, scheduler_pb2

Event = scheduler_pb2.Event
LEADERS = [Leader(TcpAddress("127.0.0.1", port), None) for port in (5050, 5051)]
HERE = Target(address=TcpAddress("127.0.0.1", 5050), path=PATH)


def subscribed_event(framework_id: str = "F1", heartbeat_s: float = 15) -> Event:
    subscribed = Event.Subscribed(
        framework_id=mesos_pb2.FrameworkID(value=framework_id), heartbeat_interval_seconds=heartbeat_s
    )
    return Event(type=Event.SUBSCRIBED, subscribed=subscribed)


def core_of(
    cls: type[Subscription] = Subscription,
    framework_id: str | None = None,
    connect_timeout_s: float | None = None,
    reconnect_timeout_s: float | None = None,
) -> Subscription:
    return cls(
        framework_id=framework_id,
        connect_timeout_s=connect_timeout_s,
        reconnect_timeout_s=reconnect_timeout_s,
        random=Random(1),
    )


def play(core: Subscription, *events: Input, now: float = 0.0) -> list[Action]:
    """The actions of the last event."""
    actions: list[Action] = []
    for event in events:
        actions = core.handle(event, now)
    return actions


ANSWER = Answered(status=200, stream_id="stream-1")
TO_SUBSCRIBED = (LeaderDetected(LEADERS[0]), ANSWER, EventArrived(subscribed_event()))


def test_from_the_leader_to_the_first_event() -> None:
    core = core_of()
    assert core.start() == [Detect(None)]
    assert Subscribe(HERE, None) in play(core, LeaderDetected(LEADERS[0]))
    actions = play(core, ANSWER, EventArrived(subscribed_event()))
    assert Deliver(subscribed_event()) in actions
    assert (core.state, core.framework_id, core.stream_id) == (State.SUBSCRIBED, "F1", "stream-1")


def test_a_lost_stream_is_subscribed_anew_with_the_same_id_after_a_short_while() -> None:
    core = core_of()
    actions = play(core, *TO_SUBSCRIBED, StreamEnded("cut"))
    (delay_s,) = [a.delay_s for a in actions if isinstance(a, StartTimer) and a.timer is Timer.RETRY]
    assert 0.1 <= delay_s <= 0.2
    assert Subscribe(HERE, "F1") in play(core, TimerFired(Timer.RETRY))


def test_the_back_off_grows_to_a_cap_and_starts_anew_after_success() -> None:
    core = core_of()
    play(core, LeaderDetected(LEADERS[0]))
    delays = []
    for _ in range(12):
        actions = play(core, ConnectingFailed("refused"))
        delays += [a.delay_s for a in actions if isinstance(a, StartTimer)]
        play(core, TimerFired(Timer.RETRY))
    assert delays[0] <= 0.2
    assert max(delays) <= 10
    assert delays[-1] >= 5
    play(core, ANSWER, EventArrived(subscribed_event()))
    actions = play(core, StreamEnded("cut"))
    assert min(a.delay_s for a in actions if isinstance(a, StartTimer)) <= 0.2


def test_five_missed_heartbeats_are_a_lost_stream_but_any_event_is_a_sign_of_life() -> None:
    core = core_of()
    play(core, *TO_SUBSCRIBED)
    patience_s = MISSED_HEARTBEATS * 15
    play(core, EventArrived(Event(type=Event.HEARTBEAT)), now=40)
    assert play(core, TimerFired(Timer.LIVENESS), now=patience_s) == [StartTimer(Timer.LIVENESS, 40)]
    assert Disconnect() in play(core, TimerFired(Timer.LIVENESS), now=40 + patience_s)
    assert core.state is State.WAITING


def test_redirects_are_followed_a_few_times() -> None:
    core = core_of()
    play(core, LeaderDetected(LEADERS[0]))
    there = Answered(status=307, location="//10.0.0.9:5052/master/api/v1/scheduler")
    target = Target(address=TcpAddress("10.0.0.9", 5052), path="/master/api/v1/scheduler")
    for _ in range(5):
        assert Subscribe(target, None) in play(core, there)
    play(core, there)
    assert core.state is State.WAITING
    assert Subscribe(HERE, None) in play(core, TimerFired(Timer.RETRY))


@pytest.mark.parametrize("status", [404, 503])
def test_a_master_that_is_not_ready_is_asked_again(status: int) -> None:
    core = core_of()
    play(core, LeaderDetected(LEADERS[0]), Answered(status=status, text="No leader elected"))
    assert core.state is State.WAITING


@pytest.mark.parametrize("status", [400, 401, 403, 406, 415])
def test_a_refusal_ends_it_with_the_masters_text(status: int) -> None:
    core = core_of()
    actions = play(core, LeaderDetected(LEADERS[0]), Answered(status=status, text="401 Unauthorized."))
    (error,) = [a.error for a in actions if isinstance(a, Finish)]
    assert isinstance(error, SubscriptionRejected)
    assert (error.status, error.message) == (status, "401 Unauthorized.")
    assert play(core, *TO_SUBSCRIBED) == []


@pytest.mark.parametrize(("status", "state"), [(400, State.ENDED), (404, State.WAITING), (503, State.WAITING)])
def test_who_is_no_master_ends_it_unless_one_may_come(status: int, state: State) -> None:
    core = core_of()
    actions = play(
        core, LeaderDetected(LEADERS[0]), Answered(status=status, text="(a web page)", stranger=Stranger.WEB_SERVER)
    )
    assert core.state is state
    if state is State.WAITING:
        assert core.trouble == f"{status} (a web page)"
    else:
        (error,) = [a.error for a in actions if isinstance(a, Finish)]
        assert isinstance(error, NotAMaster)
        assert (error.stranger, error.exit_status) == (Stranger.WEB_SERVER, 69)


def test_nobody_reached_in_time_says_who_and_why() -> None:
    core = core_of(connect_timeout_s=5)
    assert StartTimer(Timer.DEADLINE, 5) in core.start()
    play(core, LeaderDetected(LEADERS[0]), ConnectingFailed("cannot connect to 127.0.0.1:5050: connection refused"))
    (error,) = [a.error for a in play(core, TimerFired(Timer.DEADLINE)) if isinstance(a, Finish)]
    assert isinstance(error, MasterUnreachable)
    assert str(error) == ("no master reached at 127.0.0.1:5050: cannot connect to 127.0.0.1:5050: connection refused")
    assert error.exit_status == 69


def test_a_later_loss_has_a_time_limit_of_its_own() -> None:
    core = core_of(connect_timeout_s=5, reconnect_timeout_s=60)
    core.start()
    assert StopTimer(Timer.DEADLINE) in play(core, *TO_SUBSCRIBED)
    assert StartTimer(Timer.DEADLINE, 60) in play(core, StreamEnded("cut"))


def test_an_unresolvable_name_is_tried_again() -> None:
    core = core_of()
    play(core, DetectionFailed("cannot connect to nowhere:5050: no such name"))
    assert play(core, TimerFired(Timer.RETRY)) == [Detect(None)]


def test_a_new_leader_is_followed() -> None:
    core = core_of()
    actions = play(core, *TO_SUBSCRIBED, LeaderDetected(LEADERS[1]))
    assert Disconnect() in actions
    assert Subscribe(Target(address=TcpAddress("127.0.0.1", 5051), path=PATH), "F1") in actions


def test_leaving_is_no_loss() -> None:
    core = core_of()
    play(core, *TO_SUBSCRIBED, LeaveStarted())
    assert play(core, StreamEnded("the master ended the stream")) == []
    assert Finish(None) in play(core, LeaveFinished())


def test_an_unlisted_transition_tells_its_story() -> None:
    core = core_of()
    play(core, *TO_SUBSCRIBED)
    with pytest.raises(IllegalTransition, match="connecting -> subscribed: F1; subscribed -> detecting: a bug"):
        core._go(State.DETECTING, "a bug")


@pytest.mark.parametrize(
    ("location", "address", "path"),
    [
        ("//10.0.0.1:5050/master/api/v1/scheduler", TcpAddress("10.0.0.1", 5050), "/master/api/v1/scheduler"),
        ("http://m.example/api?x=1", TcpAddress("m.example", 80), "/api?x=1"),
        ("//[::1]:5050/api", TcpAddress("::1", 5050), "/api"),
        ("/elsewhere", TcpAddress("127.0.0.1", 5050), "/elsewhere"),
    ],
)
def test_where_a_redirect_leads(location: str, address: TcpAddress, path: str) -> None:
    assert parse_location(location, HERE) == Target(address=address, path=path)


@pytest.mark.parametrize("location", ["", "nonsense", "https://m/api", "//m:port/api", "//[::1/api", "ftp://m/"])
def test_redirects_that_lead_nowhere(location: str) -> None:
    assert parse_location(location, HERE) is None


def test_a_redirect_within_a_unix_socket_stays_there() -> None:
    base = Target(address=UnixAddress("/run/m.sock"), path=PATH)
    assert parse_location("/other", base) == Target(address=UnixAddress("/run/m.sock"), path="/other")


class SubscriptionMachine(RuleBasedStateMachine):
    """A world that does anything a master, a network or a user may do, in any order.

    Invariants: one_subscription (never two streams at once), same_framework (the id once given is kept),
    never_stuck (unless ended, something is under way), no_noise_after_the_end, calls_have_a_stream.
    """

    core_class: type[Subscription] = Subscription

    def __init__(self) -> None:
        super().__init__()
        self.core = core_of(self.core_class, connect_timeout_s=300, reconnect_timeout_s=60)
        self.now = 0.0
        self.timers: dict[Timer, float] = {}
        self.streams = 0
        self.detecting = False
        self.finished = 0
        self.given_id: str | None = None
        self.asked_ids: list[str | None] = []
        self.perform(self.core.start())

    def perform(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Detect():
                    self.detecting = True
                case Subscribe(_, framework_id):
                    self.streams += 1
                    self.asked_ids.append(framework_id)
                    assert framework_id == self.given_id, "same_framework"
                case Disconnect():
                    self.streams = 0
                case StartTimer(timer, delay_s):
                    assert delay_s > 0
                    self.timers[timer] = self.now + delay_s
                case StopTimer(timer):
                    self.timers.pop(timer, None)
                case Finish():
                    self.finished += 1
                case Deliver(event):
                    assert event.type != Event.HEARTBEAT
            assert self.streams <= 1, "one_subscription"

    def give(self, event: Input) -> None:
        was_ended = self.core.state is State.ENDED
        actions = self.core.handle(event, self.now)
        assert not (was_ended and actions), "no_noise_after_the_end"
        self.perform(actions)

    @precondition(lambda self: self.detecting)
    @rule(leader=st.sampled_from(LEADERS), fails=st.booleans())
    def detector_answers(self, leader: Leader, fails: bool) -> None:
        self.detecting = False
        self.give(DetectionFailed("no name") if fails else LeaderDetected(leader))

    @precondition(lambda self: self.streams == 1 and self.core.state is State.CONNECTING)
    @rule()
    def connecting_fails(self) -> None:
        self.streams = 0
        self.give(ConnectingFailed("refused"))

    @precondition(lambda self: self.streams == 1 and self.core.state is State.CONNECTING)
    @rule(status=st.sampled_from([200] * 8 + [307, 401, 503]), location=st.sampled_from(["//h:1/p", "junk", ""]))
    def master_answers(self, status: int, location: str) -> None:
        self.give(Answered(status=status, stream_id="s", location=location))

    @precondition(lambda self: self.streams == 1 and self.core.state is State.CONNECTING)
    @rule(fresh=st.sampled_from(["F1", "F2"]))
    def master_subscribes(self, fresh: str) -> None:
        self.give(ANSWER)
        self.given_id = self.given_id or fresh
        self.give(EventArrived(subscribed_event(self.given_id)))

    @precondition(lambda self: self.streams == 1)
    @rule(
        kind=st.sampled_from([Event.SUBSCRIBED] * 5 + [Event.HEARTBEAT, Event.OFFERS, Event.ERROR]),
        fresh=st.sampled_from(["F1", "F2"]),
    )
    def event_arrives(self, kind: Event.Type.ValueType, fresh: str) -> None:
        if kind == Event.SUBSCRIBED:
            was_connecting = self.core.state is State.CONNECTING and self.core.stream_id is not None
            event = subscribed_event(self.given_id or fresh)
            if was_connecting:
                self.given_id = event.subscribed.framework_id.value
            self.give(EventArrived(event))
        else:
            self.give(EventArrived(Event(type=kind)))

    @precondition(lambda self: self.streams == 1)
    @rule()
    def stream_ends(self) -> None:
        self.streams = 0
        self.give(StreamEnded("cut"))

    @precondition(lambda self: self.core.state is State.SUBSCRIBED)
    @rule(really=st.sampled_from([False, False, False, True]))
    def user_leaves(self, really: bool) -> None:
        if really:
            self.give(LeaveStarted())

    @precondition(lambda self: self.core.state in (State.LEAVING, State.ENDED))
    @rule()
    def leaving_is_over(self) -> None:
        self.give(LeaveFinished())

    @precondition(lambda self: self.timers)
    @rule(patience=st.integers(0, 5))
    def time_passes_to_the_next_timer(self, patience: int) -> None:
        timer, at = min(self.timers.items(), key=lambda entry: entry[1])
        if timer is Timer.DEADLINE and patience:
            return
        del self.timers[timer]
        self.now = max(self.now, at)
        self.give(TimerFired(timer))

    @invariant()
    def never_stuck(self) -> None:
        state = self.core.state
        if state is State.ENDED:
            assert self.finished == 1
            assert not self.timers
        elif state is State.DETECTING:
            assert self.detecting
        elif state is State.WAITING:
            assert Timer.RETRY in self.timers
            assert self.streams == 0
        elif state in (State.CONNECTING, State.SUBSCRIBED):
            assert self.streams == 1
            assert Timer.LIVENESS in self.timers

    @invariant()
    def same_framework(self) -> None:
        assert self.core.framework_id == self.given_id

    @invariant()
    def calls_have_a_stream(self) -> None:
        if self.core.state is State.SUBSCRIBED:
            assert self.core.stream_id
            assert self.core.target


def test_the_invariants_hold_in_every_order_of_events() -> None:
    run_state_machine_as_test(
        SubscriptionMachine, settings=settings(max_examples=60, stateful_step_count=40, deadline=None)
    )


FIXED = settings(max_examples=3000, deadline=None, database=None, derandomize=True, phases=[Phase.generate])


class ForgetfulSubscription(Subscription):
    """Broken on purpose: keeps the old stream when it tries anew."""

    def _retry(self, why: str) -> list[Action]:
        return [action for action in super()._retry(why) if not isinstance(action, Disconnect)]


class HastySubscription(Subscription):
    """Broken on purpose: subscribes as a new framework after a loss."""

    def _on_retry(self, now: float) -> list[Action]:
        self._framework_id = None
        return super()._on_retry(now)


@pytest.mark.parametrize("broken", [ForgetfulSubscription, HastySubscription])
def test_a_broken_core_is_found_out(broken: type[Subscription]) -> None:
    class Machine(SubscriptionMachine):
        core_class = broken

    with pytest.raises(AssertionError):
        run_state_machine_as_test(Machine, settings=FIXED)
