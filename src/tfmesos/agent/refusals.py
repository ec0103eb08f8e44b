"""What in a task this agent cannot serve yet, whatever its container: refused with a text, never ignored."""

from __future__ import annotations

from tfmesos.agent.sandboxes import id_fault
from tfmesos.wire import mesos_pb2


def refusal(task: mesos_pb2.TaskInfo, framework: mesos_pb2.FrameworkInfo) -> str | None:
    """Why the task cannot run here; None if its container is all that has to be looked at."""
    return id_fault("task id", task.task_id.value) or id_fault("framework id", framework.id.value) or _shape_fault(task)


def _shape_fault(task: mesos_pb2.TaskInfo) -> str | None:
    if task.HasField("executor"):
        return "custom executors are not supported by this agent yet"
    if not task.HasField("command"):
        return "the task has no command"
    for name in ("health_check", "check"):
        if task.HasField(name):
            return f"{name} is not supported by this agent yet"
    if task.limits:
        return "resource limits are not supported by this agent yet"
    return None
