"""What an agent writes down so that the next one can go on: facts, in the order in which they came true.

The core's actions say when, for frameworks that want checkpoints, each before the action that it must outlive; the
recorder turns these into facts. Messages in a fact are not changed after it was made. Times are seconds of the wall
clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tfmesos.wire import internal_pb2, mesos_pb2


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentKept:
    """This agent as it registered, with its id. With another id than before, all older facts are void."""

    info: mesos_pb2.AgentInfo
    boot_id: str
    runtime_dir: str = ""
    """Where its containers are found; empty: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationsKept:
    """The master's complete list of reservations and volumes."""

    message: internal_pb2.CheckpointResourcesMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainKept:
    """The agent is being drained; None: no longer."""

    message: internal_pb2.DrainSlaveMessage | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkKept:
    """A framework has something here now, or its description changed."""

    info: mesos_pb2.FrameworkInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkEnding:
    """The master ordered the framework to be shut down: nothing is reported of it any more."""

    framework_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkForgotten:
    """The framework has nothing here any more: it is completed."""

    framework_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorKept:
    """An executor's container is going to be launched. `is_command`: made up for a command task, and not told of."""

    framework_id: str
    container_id: str
    info: mesos_pb2.ExecutorInfo
    is_command: bool
    has_worked: bool = False
    """It was given a task; TaskSent says so, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorEnding:
    """It is being ended: what is left of it `grace_s` after `at_s` is killed."""

    container_id: str
    at_s: float
    grace_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorForgotten:
    """It ended and is completed, its tasks with it."""

    container_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskKept:
    """A task was accepted for this executor; nothing of it runs yet."""

    framework_id: str
    container_id: str
    info: mesos_pb2.TaskInfo
    group: int = 0
    """Tasks of one executor with the same number, not 0, are one group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSent:
    """A task was given to its executor (custom and default executors)."""

    framework_id: str
    task_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskKillAsked:
    """A task is to end, `grace_s` after `at_s` at the latest. `is_overdue`: by its max_completion_time."""

    framework_id: str
    task_id: str
    at_s: float
    grace_s: float
    is_overdue: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateQueued:
    """A status update was made or received: from now on this agent answers for it."""

    update: internal_pb2.StatusUpdate


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateAcknowledged:
    """The framework has had the update; if its state is terminal the task's stream is over."""

    framework_id: str
    task_id: str
    uuid: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskForgotten:
    """Its stream is over and nothing of it is left: it is completed. Not needed if its executor is forgotten."""

    framework_id: str
    task_id: str


Fact: TypeAlias = (
    AgentKept
    | ReservationsKept
    | DrainKept
    | FrameworkKept
    | FrameworkEnding
    | FrameworkForgotten
    | ExecutorKept
    | ExecutorEnding
    | ExecutorForgotten
    | TaskKept
    | TaskSent
    | TaskKillAsked
    | UpdateQueued
    | UpdateAcknowledged
    | TaskForgotten
)
