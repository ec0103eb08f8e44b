"""A task of a LAUNCH: the rules in Mesos' order, the first broken one gives the text."""

from collections.abc import Callable

from tfmesos.master.validation.containers import (
    check_error,
    command_error,
    container_error,
    health_check_error,
)
from tfmesos.master.validation.executors import LaunchContext, executor_error, executor_type_error, kinds_error
from tfmesos.master.validation.names import id_error
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2

_Capability = mesos_pb2.AgentInfo.Capability


def task_error(
    task: mesos_pb2.TaskInfo, resources: Resources, executor_resources: Resources, context: LaunchContext
) -> str | None:
    """Why this task may not be launched; `resources` and `executor_resources` carry their role."""
    return (
        common_error(task, resources, context)
        or _presence_error(task)
        or _executor_error(task, context)
        or _fit_error(resources, executor_resources, context)
        or _share_error(task)
    )


def common_error(task: mesos_pb2.TaskInfo, resources: Resources, context: LaunchContext) -> str | None:
    """The rules for each task, alone or in a group."""
    for rule in _RULES:
        if text := rule(task, context):
            return text
    return _role_error(resources) or _limits_error(task, resources, context)


def _id_error(task: mesos_pb2.TaskInfo, context: LaunchContext) -> str | None:
    task_id = task.task_id.value
    if text := id_error(task_id):
        return text
    if task_id in context.live_task_ids:
        return f"Task has duplicate ID: {task_id}"
    if task_id in context.unreachable_task_ids:
        return f"Task reuses the ID of an unreachable task: {task_id}"
    return None


def _agent_error(task: mesos_pb2.TaskInfo, context: LaunchContext) -> str | None:
    if task.agent_id.value != context.agent_id:
        return f"Task uses invalid agent {task.agent_id.value} while agent {context.agent_id} is expected"
    return None


def _times_error(task: mesos_pb2.TaskInfo, _: LaunchContext) -> str | None:
    if task.kill_policy.grace_period.nanoseconds < 0:
        return "Task's 'kill_policy.grace_period' must be non-negative"
    if task.max_completion_time.nanoseconds < 0:
        return "Task's `max_completion_time` must be non-negative"
    return None


def _checks_error(task: mesos_pb2.TaskInfo, _: LaunchContext) -> str | None:
    if task.HasField("check") and (text := check_error(task.check)):
        return f"Task uses invalid check: {text}"
    if task.HasField("health_check") and (text := health_check_error(task.health_check)):
        return f"Task uses invalid health check: {text}"
    return None


def _resources_error(task: mesos_pb2.TaskInfo, _: LaunchContext) -> str | None:
    if not task.resources:
        return "Task uses no resources"
    if text := kinds_error(task.resources):
        return f"Task uses invalid resources: {text}"
    return None


def _role_error(resources: Resources) -> str | None:
    roles = sorted({entry.key.allocated or "" for entry in resources})
    if len(roles) < 2:
        return None
    return (
        "Invalid task resources: The resources have multiple allocation roles "
        f"('{roles[0]}' and '{roles[1]}') but only one allocation role is allowed"
    )


def _command_error(task: mesos_pb2.TaskInfo, _: LaunchContext) -> str | None:
    text = command_error(task.command)
    return f"Task's `CommandInfo` is invalid: {text}" if text else None


def _container_error(task: mesos_pb2.TaskInfo, _: LaunchContext) -> str | None:
    text = container_error(task.container) if task.HasField("container") else None
    return f"Task's `ContainerInfo` is invalid: {text}" if text else None


_RULES: tuple[Callable[[mesos_pb2.TaskInfo, LaunchContext], str | None], ...] = (
    _id_error,
    _agent_error,
    _times_error,
    _checks_error,
    _resources_error,
    _command_error,
    _container_error,
)

_LIMITED = (("cpus", "cpu", "CPU"), ("mem", "memory", "memory"))


def _limits_error(task: mesos_pb2.TaskInfo, resources: Resources, context: LaunchContext) -> str | None:
    if not task.limits:
        return None
    if _Capability.TASK_RESOURCE_LIMITS not in context.agent_capabilities:
        return f"Agent {context.agent_id} does not support resource limits"
    if set(task.limits) - {"cpus", "mem"}:
        return "Only cpus and mem may be included in a task's resource limits"
    for name, noun, title in _LIMITED:
        if name not in task.limits:
            continue
        if not (request := resources.scalar(name)):
            return f"When a {title} limit is specified, a {title} request must also be specified"
        if not task.limits[name].value * 1000 >= request:
            return f"The {noun} limit must be greater than or equal to the {noun} request"
    return None


def _presence_error(task: mesos_pb2.TaskInfo) -> str | None:
    if task.HasField("command") == task.HasField("executor"):
        return "Task should have at least one (but not both) of CommandInfo or ExecutorInfo present"
    return None


def _executor_error(task: mesos_pb2.TaskInfo, context: LaunchContext) -> str | None:
    if not task.HasField("executor"):
        return None
    executor = task.executor
    if text := executor_type_error(executor):
        return text
    if executor.type == mesos_pb2.ExecutorInfo.DEFAULT:
        return "'ExecutorInfo.type' must be 'CUSTOM'"
    if not executor.HasField("command"):
        return "'ExecutorInfo.command' must be set"
    return executor_error(executor, context)


def _fit_error(resources: Resources, executor_resources: Resources, context: LaunchContext) -> str | None:
    needed = resources if context.executor is not None else resources + executor_resources
    if context.available.contains(needed):
        return None
    return f"Total resources {needed} required by task and its executor is more than available {context.available}"


def _share_error(task: mesos_pb2.TaskInfo) -> str | None:
    if task.HasField("container") and not task.container.linux_info.share_cgroups:
        return "Only tasks in a task group may have 'share_cgroups' set to 'false'"
    return None
