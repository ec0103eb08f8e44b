"""What the agent knows of its frameworks, tasks and their containers.

    PREPARING ──forked──▶ GATED ──program runs──▶ RUNNING
        │                   │                        │
        │ killed, failed    ├──────── killed ────────┤
        ▼                   ▼                        ▼
      ENDED ◀──────────── KILLING ◀──────────────────┘        GATED, RUNNING ──ended──▶ ENDED

ENDED: the task has had its terminal update; it is remembered until that is acknowledged and its container is gone.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum, auto

from tfmesos.agent.status_updates import TaskKey
from tfmesos.wire import mesos_pb2
from tfmesos.wire.tasks import build_task


class Phase(Enum):
    """How far a task has come."""

    PREPARING = auto()
    GATED = auto()
    RUNNING = auto()
    KILLING = auto()
    ENDED = auto()


_LEGAL = {
    (Phase.PREPARING, Phase.GATED),
    (Phase.PREPARING, Phase.ENDED),
    (Phase.GATED, Phase.RUNNING),
    (Phase.GATED, Phase.KILLING),
    (Phase.GATED, Phase.ENDED),
    (Phase.RUNNING, Phase.KILLING),
    (Phase.RUNNING, Phase.ENDED),
    (Phase.KILLING, Phase.ENDED),
}


@dataclass(slots=True)
class TaskRecord:
    """A task whose container was to be started. `move` is the only one to assign `phase`."""

    key: TaskKey
    info: mesos_pb2.TaskInfo
    task: mesos_pb2.Task  # what masters and clients are told of it
    container_id: str
    executor_id: str
    executor_name: str
    phase: Phase = Phase.PREPARING
    pid: int | None = None  # of the container's supervisor
    directory: str = ""
    is_killed: bool = False
    is_overdue: bool = False  # max_completion_time has passed
    has_container: bool = True
    is_acknowledged: bool = False
    story: list[Phase] = field(default_factory=list)

    @property
    def has_ended(self) -> bool:
        return self.phase is Phase.ENDED

    def move(self, phase: Phase) -> None:
        """Go to another phase; an impossible step raises with the phases before."""
        if (self.phase, phase) not in _LEGAL:
            raise AssertionError(f"task {self.key}: {self.phase} to {phase} is not possible; before: {self.story}")
        self.story.append(self.phase)
        self.phase = phase

    def forget_info(self) -> None:
        """Keep only what is told of a completed task: environments can be large."""
        self.info = mesos_pb2.TaskInfo()


def build_record(info: mesos_pb2.TaskInfo, framework: mesos_pb2.FrameworkInfo, container_id: str) -> TaskRecord:
    """The record of a task that has just arrived. Mesos 1.11: the command executor has the task's id."""
    is_custom = info.HasField("executor")
    task = build_task(info, framework.id.value)
    if not task.user and framework.user:
        task.user = framework.user
    return TaskRecord(
        key=TaskKey(framework.id.value, info.task_id.value),
        info=info,
        task=task,
        container_id=container_id,
        executor_id=info.executor.executor_id.value if is_custom else info.task_id.value,
        executor_name=info.executor.name if is_custom else _command_executor_name(info),
    )


@dataclass(slots=True)
class FrameworkRecord:
    """A framework that has, or had, tasks here."""

    info: mesos_pb2.FrameworkInfo
    tasks: dict[str, TaskRecord] = field(default_factory=dict)
    completed: deque[TaskRecord] = field(default_factory=deque)
    is_ending: bool = False  # the master ordered it to be shut down: nothing is reported any more

    def has_capability(self, capability: mesos_pb2.FrameworkInfo.Capability.Type.ValueType) -> bool:
        return has_capability(self.info, capability)


def has_capability(info: mesos_pb2.FrameworkInfo, wanted: mesos_pb2.FrameworkInfo.Capability.Type.ValueType) -> bool:
    """Whether a framework said that it can do this."""
    return any(capability.type == wanted for capability in info.capabilities)


def _command_executor_name(info: mesos_pb2.TaskInfo) -> str:
    """Mesos 1.11: `Command Executor (Task: <id>) (Command: sh -c '<value>')`, long values cut to 12 characters."""
    command = info.command
    if command.shell:
        value = command.value if len(command.value) <= 15 else f"{command.value[:12]}..."
        text = f"sh -c '{value}'"
    else:
        joined = ", ".join([command.value, *command.arguments])
        text = f"[{joined if len(joined) <= 15 else joined[:12] + '...'}]"
    return f"Command Executor (Task: {info.task_id.value}) (Command: {text})"
