"""What the facts come to: the state that an agent which starts again finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tfmesos.agent.checkpoint.facts import DrainKept, ExecutorEnding, TaskKillAsked
from tfmesos.wire import internal_pb2, mesos_pb2


@dataclass(slots=True, kw_only=True)
class RecoveredTask:
    """A task that was not forgotten."""

    info: mesos_pb2.TaskInfo
    container_id: str
    """Of its executor."""
    group: int
    was_sent: bool = False
    kill: TaskKillAsked | None = None
    """The last kill that was asked for."""
    acknowledged: list[internal_pb2.StatusUpdate] = field(default_factory=list)
    """The updates that the framework has had, oldest first."""
    pending: list[internal_pb2.StatusUpdate] = field(default_factory=list)
    """The updates that are still to be acknowledged, oldest first."""

    @property
    def updates(self) -> list[internal_pb2.StatusUpdate]:
        """All, oldest first."""
        return [*self.acknowledged, *self.pending]


@dataclass(slots=True, kw_only=True)
class RecoveredExecutor:
    """An executor that was not forgotten; its container may or may not be there."""

    info: mesos_pb2.ExecutorInfo
    container_id: str
    is_command: bool
    has_worked: bool = False
    """It was given a task, perhaps one that is completed."""
    ending: ExecutorEnding | None = None


@dataclass(slots=True, kw_only=True)
class RecoveredFramework:
    """A framework that was not forgotten."""

    info: mesos_pb2.FrameworkInfo
    is_ending: bool = False
    executors: dict[str, RecoveredExecutor] = field(default_factory=dict)
    """By container id."""
    tasks: dict[str, RecoveredTask] = field(default_factory=dict)
    strays: list[internal_pb2.StatusUpdate] = field(default_factory=list)
    """Updates that are still to be acknowledged of tasks which are not here."""


@dataclass(slots=True, kw_only=True)
class Recovered:
    """All that is known of the agent before."""

    agent: mesos_pb2.AgentInfo | None = None
    """With its id; None: there was none."""
    boot_id: str = ""
    runtime_dir: str = ""
    """Where its containers are; empty: not known."""
    reservations: internal_pb2.CheckpointResourcesMessage | None = None
    drain: DrainKept | None = None
    frameworks: dict[str, RecoveredFramework] = field(default_factory=dict)
    completed: dict[str, mesos_pb2.FrameworkInfo] = field(default_factory=dict)
    """The last frameworks that were forgotten, oldest first."""

    def pending_updates(self) -> Iterator[internal_pb2.StatusUpdate]:
        """All updates that are still to be acknowledged, those of each task oldest first."""
        for framework in self.frameworks.values():
            for task in framework.tasks.values():
                yield from task.pending
            yield from framework.strays
