"""What goes into a subscription's state machine and what comes out."""

from dataclasses import dataclass
from enum import Enum
from urllib.parse import urlsplit

from tfmesos.client.errors import ClientError
from tfmesos.discovery import Leader
from tfmesos.transport import Address, TcpAddress
from tfmesos.wire import scheduler_pb2


class Timer(Enum):
    """The timers a subscription asks for; each runs at most once at a time."""

    RETRY = "retry"
    LIVENESS = "liveness"
    DEADLINE = "deadline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where SUBSCRIBE and the calls go."""

    address: Address
    path: str


@dataclass(frozen=True, slots=True)
class LeaderDetected:
    leader: Leader


@dataclass(frozen=True, slots=True)
class DetectionFailed:
    why: str


@dataclass(frozen=True, slots=True)
class ConnectingFailed:
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The head of the answer to SUBSCRIBE; `text` is the body of an answer that is no stream."""

    status: int
    stream_id: str | None = None
    location: str | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class EventArrived:
    event: scheduler_pb2.Event


@dataclass(frozen=True, slots=True)
class StreamEnded:
    why: str


@dataclass(frozen=True, slots=True)
class TimerFired:
    timer: Timer


@dataclass(frozen=True, slots=True)
class LeaveStarted:
    """Our TEARDOWN is being sent."""


@dataclass(frozen=True, slots=True)
class LeaveFinished:
    """Our TEARDOWN was answered, or never will be."""


Input = (
    LeaderDetected
    | DetectionFailed
    | ConnectingFailed
    | Answered
    | EventArrived
    | StreamEnded
    | TimerFired
    | LeaveStarted
    | LeaveFinished
)


@dataclass(frozen=True, slots=True)
class Detect:
    """Learn who leads, once it differs from `previous`."""

    previous: Leader | None


@dataclass(frozen=True, slots=True)
class Subscribe:
    """Connect, send SUBSCRIBE, report the answer and its events."""

    target: Target
    framework_id: str | None


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Close the stream; nothing more of it is reported."""


@dataclass(frozen=True, slots=True)
class Deliver:
    """Show an event to the user."""

    event: scheduler_pb2.Event


@dataclass(frozen=True, slots=True)
class StartTimer:
    timer: Timer
    delay_s: float


@dataclass(frozen=True, slots=True)
class StopTimer:
    timer: Timer


@dataclass(frozen=True, slots=True)
class Finish:
    """The subscription is over; with an error, the user sees it."""

    error: ClientError | None


Action = Detect | Subscribe | Disconnect | Deliver | StartTimer | StopTimer | Finish


def parse_location(location: str, base: Target) -> Target | None:
    """Where a redirect leads, None where that is nowhere we can go.

    Mesos 1.11: `//<host>:<port>/master/api/v1/scheduler`, without a scheme.
    """
    try:
        parts = urlsplit(location)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in ("", "http") or not parts.path.startswith("/"):
        return None
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    if host is None:
        return Target(address=base.address, path=path)
    return Target(address=TcpAddress(host, port or 80), path=path)
