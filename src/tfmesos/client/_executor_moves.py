"""What goes into an executor's session and what comes out."""

from enum import Enum
from typing import NamedTuple

from tfmesos.client.errors import ClientError
from tfmesos.wire import executor_pb2, mesos_pb2


class Timer(Enum):
    """The timers a session asks for; each runs at most once at a time."""

    RETRY = "retry"
    DEADLINE = "deadline"
    OVERDUE = "overdue"


class Failed(NamedTuple):
    """No connection, or the stream ended, or a call got no answer."""

    why: str


class Refused(NamedTuple):
    """SUBSCRIBE was answered with an error status."""

    status: int
    text: str


class EventArrived(NamedTuple):
    event: executor_pb2.Event


class UpdateWanted(NamedTuple):
    """A complete status, with a uuid of its own."""

    status: mesos_pb2.TaskStatus


class MessageWanted(NamedTuple):
    data: bytes


class CallRefused(NamedTuple):
    """A call was answered with an error status."""

    error: ClientError


class CallOver(NamedTuple):
    """A call on the present connection has its answer, or will have none; what that means was told before."""


class LeaveWanted(NamedTuple):
    """The user is done with what a SHUTDOWN asks for. Before one this means nothing."""


class TimerFired(NamedTuple):
    timer: Timer


Input = (
    Failed | Refused | EventArrived | UpdateWanted | MessageWanted | CallRefused | CallOver | LeaveWanted | TimerFired
)


class Subscribe(NamedTuple):
    """Connect, send this SUBSCRIBE, report its answer."""

    call: executor_pb2.Call


class Disconnect(NamedTuple):
    """Close both connections; nothing more of them is reported."""


class Send(NamedTuple):
    """Send a call, after those sent before it; CallOver follows, unless a Disconnect does."""

    call: executor_pb2.Call


class Deliver(NamedTuple):
    """Show an event to the user."""

    event: executor_pb2.Event


class StartTimer(NamedTuple):
    timer: Timer
    delay_s: float


class StopTimer(NamedTuple):
    timer: Timer


class Finish(NamedTuple):
    """It is over; with an error, the user sees it. `is_overdue`: the grace after a SHUTDOWN is over."""

    error: ClientError | None
    is_overdue: bool = False


Action = Subscribe | Disconnect | Send | Deliver | StartTimer | StopTimer | Finish
