"""A task group: all of it may be launched, or nothing (Mesos 1.11: validation.cpp, `task::group`)."""

from collections.abc import Sequence
from dataclasses import replace

from tfmesos.master.validation.executors import LaunchContext, executor_error, executor_type_error
from tfmesos.master.validation.tasks import common_error
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2

_MIN_CPUS = 10
_MIN_MEM = 32_000
"""Of the executor, in thousandths."""
_NETWORK_CHECKS = (mesos_pb2.HealthCheck.HTTP, mesos_pb2.HealthCheck.TCP)


def group_error(
    tasks: Sequence[mesos_pb2.TaskInfo], executor: mesos_pb2.ExecutorInfo, context: LaunchContext
) -> str | None:
    """Why this group may not be launched; the tasks carry the role of their resources, and the group's executor."""
    seen = set(context.live_task_ids)
    for task in tasks:
        if text := _task_error(task, executor, replace(context, live_task_ids=seen)):
            return f"Task '{task.task_id.value}' is invalid: {text}"
        seen.add(task.task_id.value)
    return _executor_error(executor, context) or _share_error(tasks) or _fit_error(tasks, executor, context)


def _task_error(task: mesos_pb2.TaskInfo, executor: mesos_pb2.ExecutorInfo, context: LaunchContext) -> str | None:
    if text := common_error(task, Resources.from_proto(task.resources), context):
        return text
    if task.executor != executor:
        return f"The `ExecutorInfo` of the task is different from that of the group: '{executor.executor_id.value}'"
    return _container_error(task) or _limits_error(task)


def _container_error(task: mesos_pb2.TaskInfo) -> str | None:
    if not task.HasField("container"):
        return None
    if task.container.type == mesos_pb2.ContainerInfo.DOCKER:
        return "Docker ContainerInfo is not supported on the task"
    if task.container.network_infos and task.HasField("health_check") and task.health_check.type in _NETWORK_CHECKS:
        kind = mesos_pb2.HealthCheck.Type.Name(task.health_check.type)
        return f"{kind} health checks are not supported for nested containers joining their own network"
    return None


def _limits_error(task: mesos_pb2.TaskInfo) -> str | None:
    if not task.limits or not _shares_cgroups(task):
        return None
    return (
        "Resource limits may only be set for tasks within a task group when the 'share_cgroups' field is set to 'false'"
    )


def _executor_error(executor: mesos_pb2.ExecutorInfo, context: LaunchContext) -> str | None:
    if not executor.HasField("type") or executor.type == mesos_pb2.ExecutorInfo.UNKNOWN:
        return "'ExecutorInfo.type' must be set"
    if text := executor_type_error(executor) or executor_error(executor, context):
        return text
    if executor.HasField("container") and executor.container.type == mesos_pb2.ContainerInfo.DOCKER:
        return "Docker ContainerInfo is not supported on the executor"
    return _least_error(executor)


def _least_error(executor: mesos_pb2.ExecutorInfo) -> str | None:
    """What an executor of a group needs at least; for a task's own executor Mesos only warns."""
    resources = Resources.from_proto(executor.resources)
    name = executor.executor_id.value
    if resources.scalar("cpus") < _MIN_CPUS:
        has = f"{resources.scalar('cpus') / 1000:g}"
        return f"Executor '{name}' uses less CPUs ({has}) than the minimum required ({_MIN_CPUS / 1000:g})"
    if resources.scalar("mem") < _MIN_MEM:
        has = f"{resources.scalar('mem') / 1000:g}MB"
        return f"Executor '{name}' uses less memory ({has}) than the minimum required ({_MIN_MEM / 1000:g}MB)"
    return None if resources.scalar("disk") else f"Executor '{name}' uses no disk"


def _share_error(tasks: Sequence[mesos_pb2.TaskInfo]) -> str | None:
    if len({_shares_cgroups(task) for task in tasks}) < 2:
        return None
    return "The value of 'share_cgroups' must be the same for all tasks of a task group"


def _shares_cgroups(task: mesos_pb2.TaskInfo) -> bool:
    return task.container.linux_info.share_cgroups


def _fit_error(
    tasks: Sequence[mesos_pb2.TaskInfo], executor: mesos_pb2.ExecutorInfo, context: LaunchContext
) -> str | None:
    needed = sum((Resources.from_proto(task.resources) for task in tasks), Resources())
    if context.executor is None:
        needed += Resources.from_proto(executor.resources)
    if context.available.contains(needed):
        return None
    return (
        f"Total resources {needed} required by task group and its executor are more than available {context.available}"
    )
