"""What happens to the master (events in) and what it wants done (actions out)."""

from collections.abc import Mapping
from dataclasses import dataclass

from google.protobuf.message import Message

from tfmesos.master.core.registry import Operation
from tfmesos.master.ids import AgentId, FrameworkId, OfferId, StreamId
from tfmesos.transport import Pid
from tfmesos.wire import master_pb2, scheduler_pb2

# --- timers -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AllocationDue:
    """The next periodic allocation."""


@dataclass(frozen=True, slots=True)
class HeartbeatDue:
    """The next heartbeat of a stream."""

    framework_id: FrameworkId
    stream_id: StreamId


@dataclass(frozen=True, slots=True)
class FailoverOver:
    """A framework was away for its failover_timeout."""

    framework_id: FrameworkId


@dataclass(frozen=True, slots=True)
class PingDue:
    """The next ping of an agent's observer."""

    agent_id: AgentId
    observer: int


@dataclass(frozen=True, slots=True)
class ReregistrationOver:
    """A disconnected agent had its time to come back."""

    agent_id: AgentId


@dataclass(frozen=True, slots=True)
class RecoveryOver:
    """Agents from before the restart had their time to come back."""


@dataclass(frozen=True, slots=True)
class RemovalDue:
    """The turn of an agent that was given up: it is unreachable now."""

    agent_id: AgentId


@dataclass(frozen=True, slots=True)
class OfferOver:
    """An offer went unanswered for --offer_timeout."""

    offer_id: OfferId


Timer = (
    AllocationDue | HeartbeatDue | FailoverOver | PingDue | ReregistrationOver | RecoveryOver | RemovalDue | OfferOver
)

# --- events -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Started:
    """The master begins to serve."""


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A valid SUBSCRIBE call arrived on a fresh stream."""

    stream_id: StreamId
    subscribe: scheduler_pb2.Call.Subscribe


@dataclass(frozen=True, slots=True)
class StreamBroken:
    """A stream ended though the master did not end it."""

    framework_id: FrameworkId
    stream_id: StreamId


@dataclass(frozen=True, slots=True)
class Called:
    """Another valid call of a connected framework arrived."""

    framework_id: FrameworkId
    call: scheduler_pb2.Call


@dataclass(frozen=True, slots=True)
class DriverCalled:
    """A scheduler driver sent a call by libprocess; `is_forced`: its SUBSCRIBE takes over from whoever was there."""

    pid: Pid
    call: scheduler_pb2.Call
    is_forced: bool


@dataclass(frozen=True, slots=True)
class TornDown:
    """An operator wants a framework gone. `Answer`: 200 or 400."""

    framework_id: FrameworkId


@dataclass(frozen=True, slots=True)
class AgentMarkedGone:
    """An operator says that an agent will never come back. `Answer`: 200, or 404."""

    agent_id: AgentId


@dataclass(frozen=True, slots=True)
class AgentDrained:
    """An operator wants an agent empty: nothing is offered, its tasks are killed. `Answer`: 200, 400 or 409."""

    agent_id: AgentId
    max_grace_s: float | None
    mark_gone: bool


@dataclass(frozen=True, slots=True)
class AgentDeactivated:
    """An operator wants nothing offered of an agent; what runs goes on. `Answer`: 200 or 400."""

    agent_id: AgentId


@dataclass(frozen=True, slots=True)
class AgentReactivated:
    """An operator wants a deactivated or drained agent in service again. `Answer`: 200 or 400."""

    agent_id: AgentId


@dataclass(frozen=True, slots=True)
class PeerSaid:
    """A message for the master process arrived by libprocess, from an agent or an old driver."""

    sender: Pid
    message: Message


@dataclass(frozen=True, slots=True)
class AgentPonged:
    """A pong for this observer arrived."""

    observer: int


@dataclass(frozen=True, slots=True)
class LinkBroken:
    """The connection to an agent or a driver ended."""

    pid: Pid


@dataclass(frozen=True, slots=True)
class TimeCame:
    """A timer went off."""

    timer: Timer


@dataclass(frozen=True, slots=True)
class WeightsSet:
    """An operator changes the weights of these roles. `Answer`: 200 or 400."""

    weights: Mapping[str, float]


OperatorEvent = TornDown | AgentMarkedGone | AgentDrained | AgentDeactivated | AgentReactivated | WeightsSet
"""What operators want; each is answered by one `Answer`."""

Event = (
    Started
    | Subscribed
    | StreamBroken
    | Called
    | DriverCalled
    | OperatorEvent
    | PeerSaid
    | AgentPonged
    | LinkBroken
    | TimeCame
)

# --- actions ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tell:
    """Write an event to a stream."""

    stream_id: StreamId
    event: scheduler_pb2.Event


@dataclass(frozen=True, slots=True)
class BindStream:
    """From now on this stream belongs to that framework."""

    stream_id: StreamId
    framework_id: FrameworkId


@dataclass(frozen=True, slots=True)
class EndStream:
    """Finish a stream; its connection stays open."""

    stream_id: StreamId


@dataclass(frozen=True, slots=True)
class Send:
    """Send a message by libprocess, from the master or one of its observers."""

    pid: Pid
    message: Message
    from_id: str = "master"


@dataclass(frozen=True, slots=True)
class Link:
    """Watch the connection to an agent or a driver; a fresh one, in silence, if there is one."""

    pid: Pid


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Send `TimeCame` after so long; an equal timer that runs is replaced."""

    timer: Timer
    delay_s: float


@dataclass(frozen=True, slots=True)
class CancelTimer:
    """Forget a timer, if it runs."""

    timer: Timer


@dataclass(frozen=True, slots=True)
class Log:
    """A line for people: a life cycle changed, or something was refused."""

    text: str
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """Have the registry write this down before any later action is carried out."""

    operation: Operation


@dataclass(frozen=True, slots=True)
class Announce:
    """Tell every operator that subscribed."""

    event: master_pb2.Event


@dataclass(frozen=True, slots=True)
class Answer:
    """What the caller of the call just handled gets instead of 202."""

    status: int
    text: str = ""


Action = Tell | BindStream | EndStream | Send | Link | SetTimer | CancelTimer | Log | Record | Announce | Answer
