"""What the core wants done, in this order.

Those of `Fact` change what a restarted agent must know: they are written down before they are carried out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from google.protobuf.message import Message

from tfmesos.agent.core.records import ExecutorRecord, FrameworkRecord, TaskKey, TaskRecord
from tfmesos.wire import executor_pb2, mesos_pb2


@dataclass(frozen=True, slots=True)
class KeepFramework:
    """A framework is new here, or what it says of itself has changed."""

    framework: FrameworkRecord


@dataclass(frozen=True, slots=True)
class KeepTasks:
    """These tasks have been handed over for this executor."""

    executor: ExecutorRecord
    tasks: Sequence[TaskRecord]
    is_new: bool  # the executor


@dataclass(frozen=True, slots=True)
class KeepFrameworkEnding:
    """The framework is to be shut down: nothing is reported of it any more."""

    framework: FrameworkRecord


@dataclass(frozen=True, slots=True)
class KeepEnding:
    """The executor was told to end; what is left of it after the grace, from now, is killed."""

    executor: ExecutorRecord
    grace_s: float


@dataclass(frozen=True, slots=True)
class KeepDrain:
    """The agent is being drained; None: no longer."""

    config: mesos_pb2.DrainConfig | None


@dataclass(frozen=True, slots=True)
class StartContainer:
    """Make the executor's container; its first process waits at a gate."""

    executor: ExecutorRecord


@dataclass(frozen=True, slots=True)
class OpenGate:
    """Let the container's program start."""

    executor: ExecutorRecord


@dataclass(frozen=True, slots=True)
class UpdateContainer:
    """Have the container hold what its executor and these tasks need, and no more; `resized` tells when it does."""

    executor: ExecutorRecord
    tasks: Sequence[TaskRecord]


@dataclass(frozen=True, slots=True)
class Deliver:
    """These tasks go to their executor now; the event that says so follows (COMMAND: none, the gate opens)."""

    executor: ExecutorRecord
    tasks: Sequence[TaskRecord]


@dataclass(frozen=True, slots=True)
class KeepKill:
    """A kill of this task was asked for, or its time is over; `grace_s` counts from now."""

    record: TaskRecord
    grace_s: float


@dataclass(frozen=True, slots=True)
class KillContainer:
    """End everything in the container: SIGTERM, and SIGKILL after the grace. It may not be there (yet)."""

    executor: ExecutorRecord
    grace_s: float


@dataclass(frozen=True, slots=True)
class SendEvent:
    """Tell the executor, if it has a stream."""

    executor: ExecutorRecord
    event: executor_pb2.Event


@dataclass(frozen=True, slots=True)
class CloseStream:
    """End the executor's event stream."""

    executor: ExecutorRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Tell the framework, by a reliable status update.

    `status` has what is known; time, uuid, agent and container are filled in where they lack. `record` is None for a
    task that this agent does not have.
    """

    key: TaskKey
    status: mesos_pb2.TaskStatus
    record: TaskRecord | None = None


@dataclass(frozen=True, slots=True)
class Tell:
    """Send this to the master, at most once. The agent's own id is filled in."""

    message: Message


@dataclass(frozen=True, slots=True)
class StartChecks:
    """Look after the task's health as its TaskInfo says."""

    record: TaskRecord


@dataclass(frozen=True, slots=True)
class StopChecks:
    """Look no longer."""

    record: TaskRecord


@dataclass(frozen=True, slots=True)
class ForgetTask:
    """Its end is acknowledged: it is completed."""

    record: TaskRecord


@dataclass(frozen=True, slots=True)
class ForgetExecutor:
    """Its container is gone and all ends of its tasks are acknowledged."""

    executor: ExecutorRecord


@dataclass(frozen=True, slots=True)
class ForgetFramework:
    """The framework has nothing here any more."""

    framework: FrameworkRecord


Fact = (
    KeepFramework
    | KeepFrameworkEnding
    | KeepTasks
    | KeepKill
    | KeepEnding
    | KeepDrain
    | Deliver
    | Report
    | ForgetTask
    | ForgetExecutor
    | ForgetFramework
)
Action = (
    Fact
    | StartContainer
    | OpenGate
    | UpdateContainer
    | KillContainer
    | SendEvent
    | CloseStream
    | Tell
    | StartChecks
    | StopChecks
)
