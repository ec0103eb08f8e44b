"""Statuses that the master itself makes."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, TypeAlias

from tfmesos.master.core.books import Framework, Task
from tfmesos.wire import mesos_pb2

_PARTITION_AWARE = mesos_pb2.FrameworkInfo.Capability.PARTITION_AWARE
if TYPE_CHECKING:
    from tfmesos.wire.mesos_pb2 import TaskState, TaskStatus

    Reason: TypeAlias = TaskStatus.Reason.ValueType
    State: TypeAlias = TaskState.ValueType


def partition_state(framework: Framework, state: State) -> State:
    """The state for a partition-aware framework, TASK_LOST for any other."""
    return state if framework.has(_PARTITION_AWARE) else mesos_pb2.TASK_LOST


def made_status(
    task_id: str, state: State, reason: Reason, text: str, *, now: float, agent_id: str | None = None
) -> mesos_pb2.TaskStatus:
    """A status by the master, not to be acknowledged."""
    status = mesos_pb2.TaskStatus(
        state=state,
        source=mesos_pb2.TaskStatus.SOURCE_MASTER,
        reason=reason,
        message=text,
        timestamp=now,
    )
    status.task_id.value = task_id
    if agent_id is not None:
        status.agent_id.value = agent_id
    return status


def task_status(task: Task, state: State, reason: Reason, text: str, now: float) -> mesos_pb2.TaskStatus:
    """A status by the master about a task it knows."""
    message = task.message
    status = made_status(message.task_id.value, state, reason, text, now=now, agent_id=message.agent_id.value)
    if message.executor_id.value:
        status.executor_id.value = message.executor_id.value
    return status


def latest_status(task: Task, reason: Reason, text: str, now: float) -> mesos_pb2.TaskStatus:
    """What a framework was told last about a task, said again by the master."""
    message = task.message
    state = message.status_update_state if message.HasField("status_update_state") else message.state
    status = task_status(task, state, reason, text, now)
    add_details(status, task)
    return status


def add_details(status: mesos_pb2.TaskStatus, task: Task) -> None:
    """Say again what the task's last status told of its health and its container."""
    if task.message.statuses:
        _copy_fields(task.message.statuses[-1], status, ("healthy", "check_status", "container_status"))


def _copy_fields(source: mesos_pb2.TaskStatus, target: mesos_pb2.TaskStatus, names: Collection[str]) -> None:
    for name in names:
        if not source.HasField(name):  # type: ignore[arg-type]
            continue
        value = getattr(source, name)
        if isinstance(value, bool):
            setattr(target, name, value)
        else:
            getattr(target, name).CopyFrom(value)
