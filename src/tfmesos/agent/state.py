"""What the agent tells of itself and its tasks: `/state` (Mesos 1.11)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tfmesos.agent.containerizer import Containerizer
from tfmesos.agent.core import AgentCore, ExecutorRecord, FrameworkRecord, Kind, TaskRecord, has_capability
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.identity import CAPABILITIES, Identity
from tfmesos.agent.registrar import Membership
from tfmesos.endpoints import version_info
from tfmesos.flags import flag_texts
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2
from tfmesos.wire.json_codec import message_to_dict
from tfmesos.wire.text import state_name

Json = dict[str, Any]
_MULTI_ROLE = mesos_pb2.FrameworkInfo.Capability.MULTI_ROLE


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentView:
    """What there is to tell of an agent."""

    flags: AgentFlags
    identity: Identity
    membership: Membership
    core: AgentCore
    containerizer: Containerizer
    start_time: float

    @property
    def agent_id(self) -> str:
        return self.membership.agent_id or ""

    def sandboxes(self) -> list[str]:
        """The directories of the executors that the agent knows, also of completed ones."""
        frameworks = (*self.core.frameworks.values(), *self.core.completed_frameworks)
        executors = (one for framework in frameworks for one in (*framework.executors.values(), *framework.completed))
        return [executor.directory for executor in executors if executor.directory]


def state(view: AgentView) -> Json:
    """The answer of `/state`."""
    resources = view.identity.resources
    used = used_resources(view.core)
    return {
        **message_to_dict(version_info()),
        "start_time": view.start_time,
        "id": view.agent_id,
        "pid": str(view.identity.pid),
        "hostname": view.identity.hostname,
        "capabilities": [mesos_pb2.AgentInfo.Capability.Type.Name(kind) for kind in CAPABILITIES],
        **({"drain_config": message_to_dict(view.core.draining)} if view.core.draining is not None else {}),
        **_resource_summaries(resources, used),
        "resource_providers": [],
        "attributes": {attribute.name: _attribute_value(attribute) for attribute in view.identity.attributes},
        **({"master_hostname": view.membership.master.host} if view.membership.master else {}),
        **({"log_dir": view.flags.log_dir} if view.flags.log_dir else {}),
        **({"external_log_file": view.flags.external_log_file} if view.flags.external_log_file else {}),
        "flags": flag_texts(view.flags),
        "frameworks": [_framework(framework) for framework in view.core.frameworks.values()],
        "completed_frameworks": [_framework(framework) for framework in view.core.completed_frameworks],
    }


def used_resources(core: AgentCore) -> Resources:
    """What the executors and tasks that have not ended hold."""
    held = [record.task.resources for record in core.tasks() if not record.has_ended]
    held += [executor.info.resources for executor in core.executors() if executor.has_container]
    total = Resources()
    for resources in held:
        total = total + Resources.from_proto(resources).unallocated()
    return total


def _resource_summaries(resources: Resources, used: Resources) -> Json:
    roles = sorted({entry.key.reservations[-1].role for entry in resources if entry.key.reservations})
    reserved = {role: resources.reserved_to(role) for role in roles}
    return {
        "resources": resources.summary(),
        "reserved_resources": {role: part.summary() for role, part in reserved.items()},
        "unreserved_resources": resources.unreserved().summary(),
        "reserved_resources_full": {role: _full(part) for role, part in reserved.items()},
        "unreserved_resources_full": _full(resources.unreserved()),
        "reserved_resources_allocated": {
            role: used.reserved_to(role).summary() for role in roles if used.reserved_to(role)
        },
        "unreserved_resources_allocated": used.unreserved().summary(),
    }


def _full(resources: Resources) -> list[Json]:
    return [message_to_dict(resource) for resource in resources.to_proto("endpoint")]


def _attribute_value(attribute: mesos_pb2.Attribute) -> float | str:
    match attribute.type:
        case mesos_pb2.Value.SCALAR:
            return attribute.scalar.value
        case mesos_pb2.Value.RANGES:
            return f"[{', '.join(f'{part.begin}-{part.end}' for part in attribute.ranges.range)}]"
        case mesos_pb2.Value.SET:
            return f"{{{', '.join(attribute.set.item)}}}"
        case _:
            return attribute.text.value


def _framework(framework: FrameworkRecord) -> Json:
    info = framework.info
    roles: Json = {"roles": list(info.roles)} if has_capability(info, _MULTI_ROLE) else {"role": info.role}
    return {
        "id": info.id.value,
        "name": info.name,
        "user": info.user,
        "failover_timeout": info.failover_timeout,
        "checkpoint": info.checkpoint,
        "hostname": info.hostname,
        **({"principal": info.principal} if info.principal else {}),
        **roles,
        "executors": [_executor(executor) for executor in framework.executors.values()],
        "completed_executors": [_executor(executor) for executor in framework.completed],
    }


def _executor(executor: ExecutorRecord) -> Json:
    """An executor, also the one that a command task would have."""
    records = [*executor.tasks.values(), *executor.completed]
    told = executor.info if executor.kind is not Kind.COMMAND else records[0].task
    return {
        "id": executor.executor_id,
        "name": executor.info.name,
        "source": executor.info.source,
        "container": executor.container_id,
        "directory": executor.directory,
        "resources": Resources.from_proto(told.resources).summary(),
        "role": _role(told.resources),
        **({"labels": message_to_dict(told.labels).get("labels", [])} if told.HasField("labels") else {}),
        **({"type": mesos_pb2.ExecutorInfo.Type.Name(executor.info.type)} if executor.info.type else {}),
        "tasks": _tasks(record for record in executor.tasks.values() if record.is_delivered and not record.has_ended),
        "queued_tasks": [
            _queued_task(record)
            for record in executor.tasks.values()
            if not record.is_delivered and not record.has_ended
        ],
        "completed_tasks": _tasks(record for record in records if record.has_ended),
    }


def _tasks(records: Iterable[TaskRecord]) -> list[Json]:
    return [_task(record.task) for record in records]


def _queued_task(record: TaskRecord) -> Json:
    """A task that its executor does not know yet, as it came (Mesos 1.11)."""
    info = record.info
    shown: Json = {
        "id": info.task_id.value,
        "name": info.name,
        "slave_id": info.agent_id.value,
        "resources": Resources.from_proto(info.resources).summary(),
        "role": _role(info.resources),
    }
    for name in ("command", "discovery"):
        if info.HasField(name):
            shown[name] = message_to_dict(getattr(info, name))
    if info.HasField("executor"):
        shown["executor_id"] = info.executor.executor_id.value
    return shown


def _role(resources: Iterable[mesos_pb2.Resource]) -> str:
    return next((item.allocation_info.role for item in resources if item.HasField("allocation_info")), "*")


def _task(task: mesos_pb2.Task) -> Json:
    shown = {
        "id": task.task_id.value,
        "name": task.name,
        "framework_id": task.framework_id.value,
        "executor_id": task.executor_id.value,
        "slave_id": task.agent_id.value,
        "state": state_name(task.state),
        "resources": Resources.from_proto(task.resources).summary(),
        "role": _role(task.resources),
        "statuses": [_status(status) for status in task.statuses],
    }
    if task.limits:
        shown["limits"] = {name: limit.value for name, limit in task.limits.items()}
    if task.user:
        shown["user"] = task.user
    if task.HasField("labels"):
        shown["labels"] = message_to_dict(task.labels).get("labels", [])
    for name in ("discovery", "container", "health_check"):
        if task.HasField(name):
            shown[name] = message_to_dict(getattr(task, name))
    return shown


def _status(status: mesos_pb2.TaskStatus) -> Json:
    shown: Json = {"state": state_name(status.state), "timestamp": status.timestamp}
    if status.HasField("container_status"):
        container = message_to_dict(status.container_status)
        container.pop("executor_pid", None)
        shown["container_status"] = container
    if status.HasField("labels"):
        shown["labels"] = message_to_dict(status.labels).get("labels", [])
    if status.HasField("healthy"):
        shown["healthy"] = status.healthy
    return shown
