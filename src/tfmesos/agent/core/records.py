"""What the agent knows of its frameworks, their executors and their tasks.

An executor is a container. One of kind COMMAND has no program besides the task's own: the agent speaks for it.

    REGISTERING ──subscribed (COMMAND: the program runs)──▶ RUNNING
         │                                                     │
         ├────── killed, shut down, too late ──▶ TERMINATING ◀─┤
         ▼                                           ▼         ▼
     TERMINATED ◀──────────────── container gone ────┴─────────┘

TERMINATED: nothing of the container is left; the executor is remembered until all ends of its tasks are acknowledged.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple, TypeAlias

from tfmesos.wire import mesos_pb2

Capability = mesos_pb2.FrameworkInfo.Capability
State: TypeAlias = "mesos_pb2.TaskState.ValueType"
Reason: TypeAlias = "mesos_pb2.TaskStatus.Reason.ValueType"
Source: TypeAlias = "mesos_pb2.TaskStatus.Source.ValueType"


class TaskKey(NamedTuple):
    """A task of a framework; task ids alone are not unique on an agent."""

    framework_id: str
    task_id: str


class Kind(Enum):
    """Who speaks for the tasks of an executor."""

    COMMAND = auto()
    CUSTOM = auto()
    DEFAULT = auto()


class Phase(Enum):
    """How far an executor has come."""

    REGISTERING = auto()
    RUNNING = auto()
    TERMINATING = auto()
    TERMINATED = auto()


_UUIDS_KEPT = 64
_LEGAL = {
    (Phase.REGISTERING, Phase.RUNNING),
    (Phase.REGISTERING, Phase.TERMINATING),
    (Phase.REGISTERING, Phase.TERMINATED),
    (Phase.RUNNING, Phase.TERMINATING),
    (Phase.RUNNING, Phase.TERMINATED),
    (Phase.TERMINATING, Phase.TERMINATED),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why the agent ends an executor, or a container could not go on: what the tasks' frameworks are told."""

    state: State = mesos_pb2.TASK_FAILED
    reason: Reason = mesos_pb2.TaskStatus.REASON_EXECUTOR_TERMINATED
    message: str = ""
    limitation: tuple[mesos_pb2.Resource, ...] = ()  # what was used of the resource whose limit was passed


@dataclass(slots=True, eq=False, kw_only=True)
class TaskRecord:
    """A task. It has ended when its terminal update is queued; it is completed when that is acknowledged."""

    key: TaskKey
    info: mesos_pb2.TaskInfo
    task: mesos_pb2.Task  # what masters and clients are told of it
    executor: ExecutorRecord
    is_delivered: bool = False  # its executor was told of it (COMMAND: its program was started)
    is_killed: bool = False  # a kill was asked for
    kill_grace_s: float | None = None  # what the kill said; None: the task's own
    is_overdue: bool = False  # max_completion_time has passed
    has_ended: bool = False
    withheld: mesos_pb2.TaskStatus | None = None  # its terminal status, while the container holds what it needed
    group: int = 0  # tasks of one executor with the same number, not 0, came together
    uuids: deque[bytes] = field(default_factory=lambda: deque(maxlen=_UUIDS_KEPT))  # of its executor's last updates
    healthy: bool | None = None
    is_unhealthy: bool = False  # killed because its health check failed too often
    check_status: mesos_pb2.CheckStatusInfo | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing can become of it any more, told or not."""
        return self.has_ended or self.withheld is not None

    def forget_info(self) -> None:
        """Keep only what is told of a completed task: environments can be large."""
        self.info = mesos_pb2.TaskInfo()


@dataclass(frozen=True, slots=True)
class Launch:
    """Tasks that go to an executor together: one, or a group."""

    tasks: tuple[TaskRecord, ...]
    is_group: bool


@dataclass(slots=True, eq=False, kw_only=True)
class ExecutorRecord:
    """An executor: one run of one container. `move` is the only one to assign `phase`."""

    framework: FrameworkRecord
    info: mesos_pb2.ExecutorInfo  # COMMAND: made up here, its name and ids only
    kind: Kind
    container_id: str
    phase: Phase = Phase.REGISTERING
    pid: int | None = None  # of the container's supervisor, as soon as it is forked
    directory: str = ""
    is_subscribed: bool = False  # it has an event stream
    is_recovered: bool = False  # it was there before this agent, and has not subscribed since
    has_worked: bool = False  # it was given a task at least once
    has_container: bool = True
    granted: frozenset[str] | None = frozenset()  # of resized containers: tasks it holds what is needed for; None: ?
    growing: frozenset[str] | None = None  # for which it is to, as soon as `resized` says so; None: as it is
    deadline: float | None = None  # when the agent's patience ends: it has to subscribe, or to be gone
    cause: Cause | None = None  # why the agent ends it, if it does
    tasks: dict[str, TaskRecord] = field(default_factory=dict)
    groups: int = 0  # how many groups of tasks it has been given
    queue: deque[Launch] = field(default_factory=deque)
    completed: deque[TaskRecord] = field(default_factory=deque)
    story: list[Phase] = field(default_factory=list)

    @property
    def framework_id(self) -> str:
        return self.framework.info.id.value

    @property
    def executor_id(self) -> str:
        return self.info.executor_id.value

    @property
    def is_ending(self) -> bool:
        """Whether no task can start on it any more."""
        return self.phase in (Phase.TERMINATING, Phase.TERMINATED)

    def move(self, phase: Phase) -> None:
        """Go to another phase; an impossible step raises with the phases before."""
        if (self.phase, phase) not in _LEGAL:
            raise AssertionError(
                f"executor {self.executor_id}: {self.phase} to {phase} is not possible; before: {self.story}"
            )
        self.story.append(self.phase)
        self.phase = phase

    def forget_info(self) -> None:
        """Keep only what is told of a completed executor."""
        kept = mesos_pb2.ExecutorInfo()
        kept.CopyFrom(self.info)
        kept.ClearField("command")
        kept.ClearField("data")
        self.info = kept


@dataclass(slots=True, eq=False)
class FrameworkRecord:
    """A framework that has, or had, executors here."""

    info: mesos_pb2.FrameworkInfo
    executors: dict[str, ExecutorRecord] = field(default_factory=dict)
    tasks: dict[str, TaskRecord] = field(default_factory=dict)  # of all its executors
    completed: deque[ExecutorRecord] = field(default_factory=deque)
    is_ending: bool = False  # the master ordered it to be shut down: nothing is reported any more

    def has_capability(self, capability: Capability.Type.ValueType) -> bool:
        return has_capability(self.info, capability)


def has_capability(info: mesos_pb2.FrameworkInfo, wanted: Capability.Type.ValueType) -> bool:
    """Whether a framework said that it can do this."""
    return any(capability.type == wanted for capability in info.capabilities)
