"""What this agent cannot serve yet, whatever its container: refused with a text, never ignored."""

from __future__ import annotations

from tfmesos.agent.sandboxes.work_dir import id_fault
from tfmesos.checks import fault as check_fault
from tfmesos.wire import mesos_pb2


def refusal(task: mesos_pb2.TaskInfo, framework: mesos_pb2.FrameworkInfo) -> str | None:
    """Why the command task cannot run here; None if its container is all that has to be looked at."""
    return (
        id_fault("task id", task.task_id.value)
        or id_fault("framework id", framework.id.value)
        or _shape_fault(task)
        or check_fault(task)
    )


def executor_refusal(executor: mesos_pb2.ExecutorInfo, framework: mesos_pb2.FrameworkInfo) -> str | None:
    """Why the executor cannot run here; None if its container is all that has to be looked at."""
    return id_fault("executor id", executor.executor_id.value) or id_fault("framework id", framework.id.value)


def _shape_fault(task: mesos_pb2.TaskInfo) -> str | None:
    if not task.HasField("command"):
        return "the task has no command"
    if task.limits:
        return "resource limits are not supported by this agent yet"
    return None
