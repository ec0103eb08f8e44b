"""From flags to what is asked of the master. The order of the checks and their texts are those of Mesos 1.11."""

import json
import os
import pwd
from dataclasses import dataclass

from google.protobuf.message import Message

from tfmesos.cli.execute.container import build_container
from tfmesos.cli.execute.errors import ExecuteError, UsageError
from tfmesos.cli.execute.flags import ExecuteFlags
from tfmesos.cli.execute.parsing import message_of, unknown_fields
from tfmesos.resources import Resources, ResourcesError
from tfmesos.wire import mesos_pb2

__all__ = ["GPU_CAPABILITY", "Request", "build_request"]

GPU_CAPABILITY = "--framework_capabilities=GPU_RESOURCES"
"""What a user writes to be shown agents with GPUs."""

_CONTENT_TYPES = ("json", "protobuf", "application/json", "application/x-protobuf")
_EXECUTOR_RESOURCES = "cpus:0.1;mem:32;disk:32"
_LEAST = (("cpus", "0.1"), ("mem", "128"))
"""What a task gets of what `--resources` leaves out: enough for nvidia-smi, where memory is limited."""
Capability = mesos_pb2.FrameworkInfo.Capability


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to subscribe as and what to launch: one task, or a group of them with `executor`.

    `notes`: what the user should know of it, a line each.
    """

    framework: mesos_pb2.FrameworkInfo
    tasks: tuple[mesos_pb2.TaskInfo, ...]
    executor: mesos_pb2.ExecutorInfo | None
    kill_after_s: float | None
    notes: tuple[str, ...]


def build_request(flags: ExecuteFlags) -> Request:
    """The request, checked. Raises `ExecuteError`, or `UsageError` where the usage belongs below the text."""
    _check_combination(flags)
    if flags.content_type not in _CONTENT_TYPES:
        raise ExecuteError(f"Invalid content type '{flags.content_type}'")
    user = _user_name()
    if flags.package is not None:
        raise ExecuteError("--package is not supported: there is no Hadoop here; let the command fetch the file")
    if flags.appc_image is not None and flags.docker_image is not None:
        raise ExecuteError("Flags '--docker_image' and '--appc_image' are both set. Only one of them may be used")
    if flags.secret is not None:
        raise ExecuteError("--secret is not supported: this program cannot authenticate yet")
    framework = _framework(flags, user)
    if flags.task_group is not None:
        group = message_of(mesos_pb2.TaskGroupInfo, flags.task_group, "task_group")
        if not group.tasks:
            raise ExecuteError("Failed to load flag 'task_group': it has no tasks")
        notes = _ignored(mesos_pb2.TaskGroupInfo, flags.task_group)
        return _request(flags, framework, tuple(group.tasks), notes, _executor(flags))
    if flags.task is not None:
        task = message_of(mesos_pb2.TaskInfo, flags.task, "task")
        return _request(flags, framework, (task,), _ignored(mesos_pb2.TaskInfo, flags.task))
    resources, notes = _resources(flags.resources)
    return _request(flags, framework, (_task(flags, resources),), notes)


def _request(
    flags: ExecuteFlags,
    framework: mesos_pb2.FrameworkInfo,
    tasks: tuple[mesos_pb2.TaskInfo, ...],
    notes: tuple[str, ...],
    executor: mesos_pb2.ExecutorInfo | None = None,
) -> Request:
    has_capability = any(item.type == Capability.GPU_RESOURCES for item in framework.capabilities)
    if not has_capability and any(item.name == "gpus" for task in tasks for item in task.resources):
        notes = (*notes, f"GPUs are asked for without {GPU_CAPABILITY}: a master may hide the agents that have some.")
    return Request(framework=framework, tasks=tasks, executor=executor, kill_after_s=flags.kill_after, notes=notes)


def _ignored(kind: type[Message], text: str) -> tuple[str, ...]:
    return tuple(f"Ignored: '{name}' is no field that Mesos knows." for name in unknown_fields(kind, text))


def _check_combination(flags: ExecuteFlags) -> None:
    is_json = flags.task is not None or flags.task_group is not None
    if flags.task is not None and flags.task_group is not None:
        raise UsageError(
            "Either task or task group should be set but not both. Provide only one of '--task' or '--task_group'"
        )
    if not is_json and flags.name is None:
        raise UsageError("Missing required option --name")
    if not is_json and flags.shell and flags.command is None:
        raise UsageError("Missing required option --command")
    alone = (flags.name, flags.command, flags.env, flags.appc_image, flags.docker_image, flags.volumes)
    if is_json and any(value is not None for value in alone):
        raise UsageError(
            "'--name, --command, --env, --appc_image, --docker_image, --volumes' "
            "can only be set when both '--task' and '--task_group' are not set"
        )
    if flags.task is not None and flags.networks is not None:
        raise UsageError("'--networks' can only be set when '--task' is not set")


def _user_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise ExecuteError(f"No username for uid {os.geteuid()}") from None


def _framework(flags: ExecuteFlags, user: str) -> mesos_pb2.FrameworkInfo:
    framework = mesos_pb2.FrameworkInfo(
        user=user, name="mesos-execute instance", checkpoint=flags.checkpoint, role=flags.role
    )
    wanted = [Capability.RESERVATION_REFINEMENT, Capability.TASK_KILLING_STATE, Capability.REVOCABLE_RESOURCES]
    if flags.partition_aware:
        wanted.append(Capability.PARTITION_AWARE)
    wanted += _asked_capabilities(flags.framework_capabilities)
    for type_ in wanted:
        framework.capabilities.add(type=type_)
    if flags.principal is not None:
        framework.principal = flags.principal
    return framework


def _asked_capabilities(text: str | None) -> list["mesos_pb2.FrameworkInfo.Capability.Type.ValueType"]:
    names = dict.fromkeys(name.strip() for name in (text or "").split(",") if name.strip())
    for name in names:
        if name not in Capability.Type.keys():  # noqa: SIM118
            raise ExecuteError(f"Flags '--framework_capabilities' specifies an unknown capability '{name}'")
        if name != "GPU_RESOURCES":
            raise ExecuteError(f"Flags '--framework_capabilities' specifies an unsupported capability '{name}'")
    return [Capability.GPU_RESOURCES for _ in names]


def _task(flags: ExecuteFlags, resources: Resources) -> mesos_pb2.TaskInfo:
    task = mesos_pb2.TaskInfo(name=flags.name, task_id=mesos_pb2.TaskID(value=flags.name), agent_id=mesos_pb2.AgentID())
    task.agent_id.value = ""
    container = build_container(flags)
    task.resources.extend(resources.to_proto())
    task.command.shell = flags.shell
    if flags.shell and flags.command is not None:
        task.command.value = flags.command
    for name, value in _environment(flags.env).items():
        task.command.environment.variables.add(name=name, value=value)
    if container is not None:
        task.container.CopyFrom(container)
    return task


def _resources(text: str) -> tuple[Resources, tuple[str, ...]]:
    """What the task gets, and what is said of it: stock Mesos would start a task without cpus or memory."""
    try:
        resources = Resources.parse(text)
    except ResourcesError as error:
        raise ExecuteError(f"Failed to parse resources '{text}': {error}") from error
    missing = [(name, amount) for name, amount in _LEAST if not resources.scalar(name)]
    if not missing:
        return resources, ()
    names, added = " and ".join(name for name, _ in missing), ";".join(f"{name}:{amount}" for name, amount in missing)
    return resources + Resources.parse(added), (f"--resources has no {names}: {added} added.",)


def _environment(text: str | None) -> dict[str, str]:
    if text is None:
        return {}
    try:
        values = json.loads(text)
    except ValueError as error:
        raise ExecuteError(f"Failed to load flag 'env': not a JSON object: {error}") from error
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise ExecuteError("Failed to load flag 'env': a JSON object of texts is needed, '{\"NAME\": \"value\"}'")
    return values


def _executor(flags: ExecuteFlags) -> mesos_pb2.ExecutorInfo:
    """The default executor (Mesos 1.11: its resources are fixed)."""
    executor = mesos_pb2.ExecutorInfo(
        type=mesos_pb2.ExecutorInfo.DEFAULT, executor_id=mesos_pb2.ExecutorID(value="default-executor")
    )
    executor.resources.extend(Resources.parse(_EXECUTOR_RESOURCES).to_proto())
    for name in (flags.networks or "").split(","):
        if name:
            executor.container.type = mesos_pb2.ContainerInfo.MESOS
            executor.container.network_infos.add(name=name)
    return executor
