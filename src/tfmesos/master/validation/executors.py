"""An executor, of a task or of a task group: the rules in Mesos' order, and what they judge by."""

from collections.abc import Collection
from dataclasses import dataclass

from tfmesos.master.validation.containers import command_error, container_error
from tfmesos.master.validation.names import id_error
from tfmesos.resources import Resources, validate_gpus
from tfmesos.wire import mesos_pb2


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchContext:
    """What a task is judged by: where it shall run, and what is there already."""

    framework_id: str
    agent_id: str
    agent_capabilities: Collection[int]
    live_task_ids: Collection[str]
    unreachable_task_ids: Collection[str]
    executor: mesos_pb2.ExecutorInfo | None
    """The executor with the wanted id that runs on the agent."""
    available: Resources


def executor_type_error(executor: mesos_pb2.ExecutorInfo) -> str | None:
    """What an executor of this type may not or must have."""
    if executor.type == mesos_pb2.ExecutorInfo.CUSTOM and not executor.HasField("command"):
        return "'ExecutorInfo.command' must be set for 'CUSTOM' executor"
    if executor.type != mesos_pb2.ExecutorInfo.DEFAULT:
        return None
    if executor.HasField("command"):
        return "'ExecutorInfo.command' must not be set for 'DEFAULT' executor"
    if not executor.HasField("container"):
        return None
    if executor.container.type != mesos_pb2.ContainerInfo.MESOS:
        return "'ExecutorInfo.container.type' must be 'MESOS' for 'DEFAULT' executor"
    if executor.container.mesos.HasField("image"):
        return "'ExecutorInfo.container.mesos.image' must not be set for 'DEFAULT' executor"
    return None


def executor_error(executor: mesos_pb2.ExecutorInfo, context: LaunchContext) -> str | None:
    """Why this executor may not run there, whatever its type."""
    if text := id_error(executor.executor_id.value):
        return text
    if executor.shutdown_grace_period.nanoseconds < 0:
        return "ExecutorInfo's `shutdown_grace_period` must be non-negative"
    if not executor.HasField("framework_id"):
        return "'ExecutorInfo.framework_id' must be set"
    if executor.framework_id.value != context.framework_id:
        return (
            "ExecutorInfo has an invalid FrameworkID "
            f"(Actual: {executor.framework_id.value} vs Expected: {context.framework_id})"
        )
    return _parts_error(executor) or _compatible_error(executor, context.executor)


def kinds_error(resources: Collection[mesos_pb2.Resource]) -> str | None:
    """Fractions of GPUs, and one name with and without the right to be taken back."""
    if text := validate_gpus(resources):
        return f"Invalid 'gpus' resource: {text}"
    revocable = {resource.name for resource in resources if resource.HasField("revocable")}
    mixed = next((r.name for r in resources if r.name in revocable and not r.HasField("revocable")), None)
    return f"Cannot use both revocable and non-revocable '{mixed}' at the same time" if mixed else None


def _parts_error(executor: mesos_pb2.ExecutorInfo) -> str | None:
    if text := kinds_error(executor.resources):
        return f"Executor uses invalid resources: {text}"
    if text := command_error(executor.command):
        return f"Executor's `CommandInfo` is invalid: {text}"
    text = container_error(executor.container) if executor.HasField("container") else None
    return f"Executor's `ContainerInfo` is invalid: {text}" if text else None


def _compatible_error(wanted: mesos_pb2.ExecutorInfo, running: mesos_pb2.ExecutorInfo | None) -> str | None:
    if running is None or running == wanted:
        return None
    return (
        "ExecutorInfo is not compatible with existing ExecutorInfo with same ExecutorID.\n"
        f"Existing ExecutorInfo:\n{running}\nNew ExecutorInfo:\n{wanted}"
    )
