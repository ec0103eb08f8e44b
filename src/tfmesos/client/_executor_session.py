"""An executor's life with its agent as a pure state machine: events in, actions out.

CONNECTING → SUBSCRIBED | WAITING             SUBSCRIBED arrived | it did not
SUBSCRIBED → WAITING                          the stream ended
WAITING    → CONNECTING                       the back-off is over
any        → CLOSING                          SHUTDOWN arrived, or the agent was given up
CLOSING    → ENDED                            the grace is over, or the user is done and has no call under way
any        → ENDED                            ERROR event, refusal

Mesos 1.11: whatever the agent has not acknowledged, tasks and updates, goes into the next SUBSCRIBE.
"""

from collections import deque
from enum import Enum
from random import Random
from typing import assert_never

from tfmesos.client._executor_moves import (
    Action,
    CallOver,
    CallRefused,
    Deliver,
    Disconnect,
    EventArrived,
    Failed,
    Finish,
    Input,
    LeaveWanted,
    MessageWanted,
    Refused,
    Send,
    StartTimer,
    StopTimer,
    Subscribe,
    Timer,
    TimerFired,
    UpdateWanted,
)
from tfmesos.client.errors import ClientError, SubscriptionRejected
from tfmesos.client.executor_environment import ExecutorEnvironment
from tfmesos.wire import executor_pb2, mesos_pb2

Event = executor_pb2.Event
Call = executor_pb2.Call
_RETRIED = frozenset({404, 503})
"""Mesos 1.11: 503 while the agent recovers, 404 before its routes are set up."""


class State(Enum):
    """Where a session stands."""

    CONNECTING = "connecting"
    SUBSCRIBED = "subscribed"
    WAITING = "waiting"
    CLOSING = "closing"
    ENDED = "ended"


_LEGAL = frozenset(
    {
        (State.CONNECTING, State.SUBSCRIBED),
        (State.CONNECTING, State.WAITING),
        (State.SUBSCRIBED, State.WAITING),
        (State.WAITING, State.CONNECTING),
        *((state, State.CLOSING) for state in (State.CONNECTING, State.SUBSCRIBED, State.WAITING)),
        *((state, State.ENDED) for state in State if state is not State.ENDED),
    }
)


class IllegalTransition(AssertionError):
    """A transition that the table does not list: a bug."""


class ExecutorSession:
    """One executor's subscription, over all its connections."""

    def __init__(self, environment: ExecutorEnvironment, random: Random) -> None:
        self._environment = environment
        self._random = random
        self._state = State.CONNECTING
        self._is_connected = False
        self._has_deadline = False
        self._tasks: dict[str, mesos_pb2.TaskInfo] = {}
        self._updates: dict[bytes, mesos_pb2.TaskStatus] = {}
        self._carried: frozenset[bytes] = frozenset()
        self._under_way = 0
        self._is_leaving = False
        self._story: deque[str] = deque(maxlen=20)

    @property
    def state(self) -> State:
        return self._state

    @property
    def unacknowledged(self) -> int:
        """How many updates the agent has not acknowledged."""
        return len(self._updates)

    def start(self) -> list[Action]:
        """The first actions."""
        return [self._subscribe()]

    def handle(self, event: Input) -> list[Action]:
        """Take one event. After the end nothing has an effect."""
        if self._state is State.ENDED:
            return []
        match event:
            case Failed(why):
                return self._on_failure(why)
            case Refused(status, text):
                return self._on_refusal(status, text)
            case EventArrived(arrived):
                return self._on_event(arrived)
            case UpdateWanted(status):
                self._updates[status.uuid] = status
                return self._send(self._update_call(status))
            case MessageWanted(data):
                call = self._call(Call.MESSAGE)
                call.message.data = data
                return self._send(call)
            case CallRefused(error):
                return self._end(error)
            case CallOver():
                self._under_way -= 1
                return self._leave()
            case LeaveWanted():
                self._is_leaving = self._state is State.CLOSING
                return self._leave()
            case TimerFired(timer):
                return self._on_timer(timer)
            case _:
                assert_never(event)

    def _go(self, state: State, why: str) -> None:
        self._story.append(f"{self._state.value} -> {state.value}: {why}")
        if (self._state, state) not in _LEGAL:
            raise IllegalTransition("; ".join(self._story))
        self._state = state

    def _on_failure(self, why: str) -> list[Action]:
        self._is_connected = False
        if self._state not in (State.CONNECTING, State.SUBSCRIBED):
            return []
        if not self._environment.does_checkpoint:
            return [self._disconnect(), *self._give_up(why)]
        if self._has_deadline:
            return self._retry(why)
        self._has_deadline = True
        return [StartTimer(Timer.DEADLINE, self._environment.recovery_timeout_s), *self._retry(why)]

    def _on_refusal(self, status: int, text: str) -> list[Action]:
        if self._state is not State.CONNECTING:
            return []
        if status in _RETRIED:
            return self._retry(f"{status} {text}")
        return self._end(SubscriptionRejected(text, status, "agent"))

    def _retry(self, why: str) -> list[Action]:
        """Mesos 1.11: after a random time of at most MESOS_SUBSCRIPTION_BACKOFF_MAX."""
        self._go(State.WAITING, why)
        delay_s = self._random.random() * self._environment.backoff_max_s
        return [self._disconnect(), StartTimer(Timer.RETRY, delay_s)]

    def _on_event(self, event: executor_pb2.Event) -> list[Action]:
        if self._state is State.WAITING:
            return []
        match event.type:
            case Event.SUBSCRIBED:
                return self._on_subscribed(event)
            case Event.SHUTDOWN:
                return self._close(event, "SHUTDOWN")
            case Event.ERROR:
                return [Deliver(event), *self._end(None)]
            case Event.HEARTBEAT | Event.UNKNOWN:
                return []
            case Event.LAUNCH:
                self._tasks[event.launch.task.task_id.value] = event.launch.task
            case Event.LAUNCH_GROUP:
                self._tasks |= {task.task_id.value: task for task in event.launch_group.task_group.tasks}
            case Event.ACKNOWLEDGED:
                self._tasks.pop(event.acknowledged.task_id.value, None)
                self._updates.pop(event.acknowledged.uuid, None)
        return [Deliver(event)]

    def _on_subscribed(self, event: executor_pb2.Event) -> list[Action]:
        if self._state is not State.CONNECTING:
            return []
        self._go(State.SUBSCRIBED, event.subscribed.container_id.value)
        self._is_connected, self._has_deadline = True, False
        late = [status for uuid, status in self._updates.items() if uuid not in self._carried]
        return [
            StopTimer(Timer.DEADLINE),
            Deliver(event),
            *(action for status in late for action in self._send(self._update_call(status))),
        ]

    def _close(self, shutdown: executor_pb2.Event, why: str) -> list[Action]:
        """The user has the grace to end by itself; what it still tells goes out while the stream lasts."""
        if self._state is State.CLOSING:
            return []
        self._go(State.CLOSING, why)
        return [
            StopTimer(Timer.RETRY),
            StopTimer(Timer.DEADLINE),
            Deliver(shutdown),
            StartTimer(Timer.OVERDUE, self._environment.shutdown_grace_s),
        ]

    def _give_up(self, why: str) -> list[Action]:
        return self._close(executor_pb2.Event(type=Event.SHUTDOWN), why)

    def _on_timer(self, timer: Timer) -> list[Action]:
        match timer:
            case Timer.RETRY:
                if self._state is not State.WAITING:
                    return []
                self._go(State.CONNECTING, "again")
                return [self._subscribe()]
            case Timer.DEADLINE:
                if self._state not in (State.CONNECTING, State.WAITING):
                    return []
                return [self._disconnect(), *self._give_up("the recovery time-out is over")]
            case Timer.OVERDUE:
                return self._end(None, is_overdue=True)
            case _:
                assert_never(timer)

    def _send(self, call: Call) -> list[Action]:
        if not self._is_connected:
            return []
        self._under_way += 1
        return [Send(call)]

    def _disconnect(self) -> Disconnect:
        self._under_way = 0
        return Disconnect()

    def _leave(self) -> list[Action]:
        return self._end(None) if self._is_leaving and not self._under_way else []

    def _subscribe(self) -> Subscribe:
        self._carried = frozenset(self._updates)
        call = self._call(Call.SUBSCRIBE)
        call.subscribe.SetInParent()
        call.subscribe.unacknowledged_tasks.extend(self._tasks.values())
        for status in self._updates.values():
            call.subscribe.unacknowledged_updates.add(status=status)
        return Subscribe(call)

    def _update_call(self, status: mesos_pb2.TaskStatus) -> executor_pb2.Call:
        call = self._call(Call.UPDATE)
        call.update.status.CopyFrom(status)
        return call

    def _call(self, kind: Call.Type.ValueType) -> executor_pb2.Call:
        call = Call(type=kind)
        call.executor_id.value = self._environment.executor_id
        call.framework_id.value = self._environment.framework_id
        return call

    def _end(self, error: ClientError | None, *, is_overdue: bool = False) -> list[Action]:
        self._go(State.ENDED, str(error) if error else "done")
        self._is_connected = False
        return [Disconnect(), *(StopTimer(timer) for timer in Timer), Finish(error, is_overdue)]
