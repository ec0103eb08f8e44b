"""What goes into the core and what comes out. A container is named by its id's value, which is new for each task."""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from tfmesos.wire import agent_pb2, mesos_pb2


class Timer(Enum):
    """A container's timers; each runs at most once at a time, and none after Forget."""

    GRACE = "grace"
    COMPLETION = "completion"


class Subscribed(NamedTuple):
    """The agent is there (again)."""

    container_id: mesos_pb2.ContainerID
    framework: mesos_pb2.FrameworkInfo


class Disconnected(NamedTuple):
    """The agent is lost."""


class GroupArrived(NamedTuple):
    """Tasks that live and die together."""

    tasks: Sequence[mesos_pb2.TaskInfo]


class KillArrived(NamedTuple):
    """`grace_s` None: as the task's own kill policy says."""

    task_id: str
    grace_s: float | None


class ShutdownArrived(NamedTuple):
    """All tasks are to end within the grace."""

    grace_s: float


class Launched(NamedTuple):
    """The container runs."""

    container: str


class LaunchRefused(NamedTuple):
    """The agent would not start the container."""

    container: str
    text: str


class Signalled(NamedTuple):
    """The agent has sent the signal."""

    container: str
    number: int


class Waited(NamedTuple):
    """The container is over; None: the agent knows nothing of it."""

    container: str
    result: agent_pb2.Response.WaitContainer | None


class HealthTold(NamedTuple):
    """A health check has news."""

    container: str
    is_healthy: bool


class CheckTold(NamedTuple):
    """A check has news."""

    container: str
    status: mesos_pb2.CheckStatusInfo


class FoundHopeless(NamedTuple):
    """The health check has failed too often."""

    container: str


class TimerFired(NamedTuple):
    """A timer is over."""

    container: str
    timer: Timer


Input = (
    Subscribed
    | Disconnected
    | GroupArrived
    | KillArrived
    | ShutdownArrived
    | Launched
    | LaunchRefused
    | Signalled
    | Waited
    | HealthTold
    | CheckTold
    | FoundHopeless
    | TimerFired
)


class Update(NamedTuple):
    """Tell the agent."""

    status: mesos_pb2.TaskStatus


class Launch(NamedTuple):
    """Ask for the container until the agent has answered: Launched or LaunchRefused."""

    launch: agent_pb2.Call.LaunchContainer


class Wait(NamedTuple):
    """Ask how the container ends until the agent has answered: Waited."""

    container_id: mesos_pb2.ContainerID


class Signal(NamedTuple):
    """Ask for the signal, each second until the agent has sent it (Signalled), another is wanted, or Forget."""

    container_id: mesos_pb2.ContainerID
    number: int


class Link(NamedTuple):
    """Show the container's sandbox as `tasks/<task id>`."""

    task_id: str
    container: str


class StartChecks(NamedTuple):
    """Begin the task's check and health check."""

    container_id: mesos_pb2.ContainerID
    task: mesos_pb2.TaskInfo


class PauseChecks(NamedTuple):
    """Of all tasks: nobody can be told."""


class ResumeChecks(NamedTuple):
    """Of all tasks."""


class StopChecks(NamedTuple):
    """Of one task."""

    container: str


class StartTimer(NamedTuple):
    """Instead of the same timer that may be running."""

    container: str
    timer: Timer
    delay_s: float


class Forget(NamedTuple):
    """The container is over: stop its timers, checks and signals."""

    container: str


Action = (
    Update | Launch | Wait | Signal | Link | StartChecks | PauseChecks | ResumeChecks | StopChecks | StartTimer | Forget
)
