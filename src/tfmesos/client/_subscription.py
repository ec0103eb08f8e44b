"""The subscription of a scheduler as a pure state machine: events and the time in, actions out.

DETECTING  → CONNECTING                       a leader is known
CONNECTING → SUBSCRIBED | WAITING             SUBSCRIBED arrived | it did not (redirects are followed first)
SUBSCRIBED → WAITING | LEAVING                the stream ended or fell silent | our TEARDOWN is under way
WAITING    → CONNECTING | DETECTING           the back-off is over
any        → ENDED                            ERROR event, refusal, time-out, TEARDOWN done
"""

from collections import deque
from collections.abc import Sequence
from enum import Enum
from random import Random
from typing import assert_never

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
from tfmesos.client.errors import ClientError, MasterUnreachable, NotAMaster, SubscriptionRejected
from tfmesos.discovery import Leader
from tfmesos.transport import Backoff
from tfmesos.wire import scheduler_pb2

PATH = "/api/v1/scheduler"
MISSED_HEARTBEATS = 5
"""Mesos 1.11: clients usually treat 5 missed heartbeats as a dead stream."""
DEFAULT_HEARTBEAT_S = 15.0
MOST_REDIRECTS = 5
RETRIED = frozenset({404, 429, 500, 502, 503, 504})
"""Mesos 1.11: 503 while there is no leader or it recovers, 404 before the master's routes are set up."""


class State(Enum):
    """Where a subscription stands."""

    DETECTING = "detecting"
    CONNECTING = "connecting"
    SUBSCRIBED = "subscribed"
    WAITING = "waiting"
    LEAVING = "leaving"
    ENDED = "ended"


_LEGAL = frozenset(
    {
        (State.DETECTING, State.CONNECTING),
        (State.DETECTING, State.WAITING),
        (State.CONNECTING, State.CONNECTING),
        (State.CONNECTING, State.SUBSCRIBED),
        (State.CONNECTING, State.WAITING),
        (State.SUBSCRIBED, State.CONNECTING),
        (State.SUBSCRIBED, State.WAITING),
        (State.SUBSCRIBED, State.LEAVING),
        (State.WAITING, State.CONNECTING),
        (State.WAITING, State.DETECTING),
        *((state, State.ENDED) for state in State if state is not State.ENDED),
    }
)


class IllegalTransition(AssertionError):
    """A transition that the table does not list: a bug."""


class Subscription:
    """One scheduler's subscription, over all its connections."""

    def __init__(
        self,
        *,
        framework_id: str | None,
        connect_timeout_s: float | None,
        reconnect_timeout_s: float | None,
        random: Random,
    ) -> None:
        self._state = State.DETECTING
        self._framework_id = framework_id
        self._timeouts_s = (connect_timeout_s, reconnect_timeout_s)
        self._backoff = Backoff(0.2, 10.0, random)
        self._leader: Leader | None = None
        self._is_watched = True
        self._target: Target | None = None
        self._stream_id: str | None = None
        self._redirects = 0
        self._heartbeat_s = DEFAULT_HEARTBEAT_S
        self._last_seen = 0.0
        self._why = "nobody told who leads"
        self._story: deque[str] = deque(maxlen=20)

    @property
    def state(self) -> State:
        return self._state

    @property
    def framework_id(self) -> str | None:
        """As the master gave it; kept over every reconnection."""
        return self._framework_id

    @property
    def trouble(self) -> str:
        """Why no subscription stands (if none does)."""
        return self._why

    @property
    def leader(self) -> Leader | None:
        return self._leader

    @property
    def target(self) -> Target | None:
        """Where the calls go, while subscribed."""
        return self._target

    @property
    def stream_id(self) -> str | None:
        """What the calls carry, while subscribed."""
        return self._stream_id

    def start(self) -> list[Action]:
        """The first actions."""
        return [Detect(None), *self._deadline(self._timeouts_s[0])]

    def handle(self, event: Input, now: float) -> list[Action]:
        """Take one event. After the end nothing has an effect."""
        if self._state is State.ENDED:
            return []
        match event:
            case LeaderDetected(leader):
                return self._on_leader(leader, now)
            case DetectionFailed(why):
                self._is_watched = False
                return self._retry(why) if self._state is State.DETECTING else []
            case ConnectingFailed(why):
                return self._retry(why) if self._state is State.CONNECTING else []
            case Answered():
                return self._on_answer(event, now) if self._state is State.CONNECTING else []
            case EventArrived(arrived):
                self._last_seen = now
                return self._on_event(arrived)
            case StreamEnded(why):
                return self._on_stream_end(why)
            case TimerFired(timer):
                return self._on_timer(timer, now)
            case LeaveStarted():
                if self._state is State.SUBSCRIBED:
                    self._go(State.LEAVING, "teardown")
                return []
            case LeaveFinished():
                return self._end(None) if self._state is State.LEAVING else []
            case _:
                assert_never(event)

    def _go(self, state: State, why: str) -> None:
        self._story.append(f"{self._state.value} -> {state.value}: {why}")
        if (self._state, state) not in _LEGAL:
            raise IllegalTransition("; ".join(self._story))
        self._state = state

    def _on_leader(self, leader: Leader, now: float) -> list[Action]:
        self._leader = leader
        self._why = "it does not answer"
        if self._state is State.LEAVING:
            return []
        leaving: list[Action] = [] if self._state in (State.DETECTING, State.WAITING) else [Disconnect()]
        deadline = self._deadline(self._timeouts_s[1]) if self._state is State.SUBSCRIBED else []
        self._redirects = 0
        connect = self._connect(Target(address=leader.address, path=PATH), now)
        return [*leaving, *deadline, StopTimer(Timer.RETRY), Detect(leader), *connect]

    def _connect(self, target: Target, now: float) -> list[Action]:
        self._go(State.CONNECTING, str(target.address))
        self._target = target
        self._stream_id = None
        self._last_seen = now
        return [Subscribe(target, self._framework_id), StartTimer(Timer.LIVENESS, self._patience_s)]

    @property
    def _patience_s(self) -> float:
        return MISSED_HEARTBEATS * self._heartbeat_s

    def _on_answer(self, answer: Answered, now: float) -> list[Action]:
        self._last_seen = now
        if answer.status == 200:
            if not answer.stream_id:
                return self._end(SubscriptionRejected("the answer has no Mesos-Stream-Id", 200))
            self._stream_id = answer.stream_id
            return []
        if answer.status == 307:
            return self._follow(answer.location or "", now)
        if answer.status in RETRIED:
            return self._retry(f"{answer.status} {answer.text}".strip())
        if answer.stranger is not None and self._target is not None:
            return self._end(NotAMaster(self._target.address, answer.stranger))
        return self._end(SubscriptionRejected(answer.text, answer.status))

    def _follow(self, location: str, now: float) -> list[Action]:
        assert self._target is not None
        target = parse_location(location, self._target)
        self._redirects += 1
        if target is None:
            return self._retry(f"redirected to {location!r}, which is no place to go")
        if self._redirects > MOST_REDIRECTS:
            return self._retry(f"redirected more than {MOST_REDIRECTS} times")
        return [Disconnect(), *self._connect(target, now)]

    def _on_event(self, event: scheduler_pb2.Event) -> list[Action]:
        if self._state not in (State.CONNECTING, State.SUBSCRIBED, State.LEAVING):
            return []
        match event.type:
            case scheduler_pb2.Event.ERROR:
                return [Deliver(event), *self._end(None)]
            case scheduler_pb2.Event.SUBSCRIBED:
                return self._on_subscribed(event)
            case scheduler_pb2.Event.HEARTBEAT | scheduler_pb2.Event.UNKNOWN:
                return []
        return [] if self._state is State.CONNECTING else [Deliver(event)]

    def _on_subscribed(self, event: scheduler_pb2.Event) -> list[Action]:
        if self._state is not State.CONNECTING or self._stream_id is None:
            return []
        self._go(State.SUBSCRIBED, event.subscribed.framework_id.value)
        self._framework_id = event.subscribed.framework_id.value
        self._heartbeat_s = event.subscribed.heartbeat_interval_seconds or DEFAULT_HEARTBEAT_S
        self._backoff.reset()
        self._redirects = 0
        return [StopTimer(Timer.DEADLINE), StartTimer(Timer.LIVENESS, self._patience_s), Deliver(event)]

    def _on_stream_end(self, why: str) -> list[Action]:
        if self._state not in (State.CONNECTING, State.SUBSCRIBED):
            return []
        return self._retry(why)

    def _retry(self, why: str) -> list[Action]:
        self._why = why
        deadline = self._deadline(self._timeouts_s[1]) if self._state is State.SUBSCRIBED else []
        self._go(State.WAITING, why)
        self._stream_id = None
        return [Disconnect(), StopTimer(Timer.LIVENESS), *deadline, StartTimer(Timer.RETRY, self._backoff.next())]

    def _on_timer(self, timer: Timer, now: float) -> list[Action]:
        match timer:
            case Timer.RETRY:
                return self._on_retry(now)
            case Timer.LIVENESS:
                return self._on_liveness(now)
            case Timer.DEADLINE:
                return self._on_deadline()
            case _:
                assert_never(timer)

    def _on_retry(self, now: float) -> list[Action]:
        if self._state is not State.WAITING:
            return []
        if self._leader is None:
            self._go(State.DETECTING, "again")
            self._is_watched = True
            return [Detect(None)]
        self._redirects = 0
        watch = [] if self._is_watched else [Detect(self._leader)]
        self._is_watched = True
        return [*watch, *self._connect(Target(address=self._leader.address, path=PATH), now)]

    def _on_liveness(self, now: float) -> list[Action]:
        if self._state not in (State.CONNECTING, State.SUBSCRIBED):
            return []
        left_s = self._last_seen + self._patience_s - now
        if left_s > 0:
            return [StartTimer(Timer.LIVENESS, left_s)]
        return self._retry(f"nothing heard from the master for {self._patience_s:g} s")

    def _on_deadline(self) -> list[Action]:
        if self._state in (State.SUBSCRIBED, State.LEAVING):
            return []
        return self._end(MasterUnreachable(self._leader.address if self._leader else None, self._why))

    def _deadline(self, timeout_s: float | None) -> Sequence[Action]:
        return [] if timeout_s is None else [StartTimer(Timer.DEADLINE, timeout_s)]

    def _end(self, error: ClientError | None) -> list[Action]:
        self._go(State.ENDED, str(error) if error else "done")
        self._stream_id = None
        return [Disconnect(), *(StopTimer(timer) for timer in Timer), Finish(error)]
