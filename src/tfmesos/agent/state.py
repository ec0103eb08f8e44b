"""What the agent tells of itself and its tasks: `/state` (Mesos 1.11) and its metrics."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tfmesos.agent.core import AgentCore, ExecutorRecord, FrameworkRecord, Kind, Phase, TaskRecord, has_capability
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.identity import CAPABILITIES, Identity
from tfmesos.agent.registrar import Membership
from tfmesos.flags import flag_texts
from tfmesos.resources import Resources
from tfmesos.version import MESOS_VERSION, build_of_this
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
    start_time: float

    @property
    def agent_id(self) -> str:
        return self.membership.agent_id or ""


def version_info() -> mesos_pb2.VersionInfo:
    """The answer of `/version`."""
    build = build_of_this()
    return mesos_pb2.VersionInfo(
        version=MESOS_VERSION, build_date=build.date, build_time=build.time_s, build_user=build.user
    )


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
        **_resource_summaries(resources, used),
        "resource_providers": [],
        "attributes": {attribute.name: _attribute_value(attribute) for attribute in view.identity.attributes},
        **({"master_hostname": view.membership.master.host} if view.membership.master else {}),
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


def metrics(view: AgentView) -> dict[str, float]:
    """The metrics that exist here, with Mesos' names."""
    states = Counter(state_name(record.task.state) for record in view.core.tasks())
    phases = Counter(executor.phase for executor in view.core.executors())
    total, used = view.identity.resources, used_resources(view.core)
    values: dict[str, float] = {
        "slave/registered": float(view.membership.is_registered),
        "slave/uptime_secs": time.time() - view.start_time,
        "slave/frameworks_active": float(len(view.core.frameworks)),
        "slave/executors_registering": float(phases[Phase.REGISTERING]),
        "slave/executors_running": float(phases[Phase.RUNNING]),
        "slave/executors_terminating": float(phases[Phase.TERMINATING]),
    }
    for name in ("staging", "starting", "running", "killing"):
        values[f"slave/tasks_{name}"] = float(states[f"TASK_{name.upper()}"])
    for name in ("cpus", "gpus", "mem", "disk"):
        all_of_it, part = total.scalar(name) / 1000, used.scalar(name) / 1000
        values[f"slave/{name}_total"] = all_of_it
        values[f"slave/{name}_used"] = part
        values[f"slave/{name}_percent"] = part / all_of_it if all_of_it else 0.0
    return values


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
    role = next((item.allocation_info.role for item in told.resources if item.HasField("allocation_info")), "*")
    return {
        "id": executor.executor_id,
        "name": executor.info.name,
        "source": executor.info.source,
        "container": executor.container_id,
        "directory": executor.directory,
        "resources": Resources.from_proto(told.resources).summary(),
        "role": role,
        **({"labels": message_to_dict(told.labels).get("labels", [])} if told.HasField("labels") else {}),
        **({"type": mesos_pb2.ExecutorInfo.Type.Name(executor.info.type)} if executor.info.type else {}),
        "tasks": _tasks(record for record in executor.tasks.values() if record.is_delivered and not record.has_ended),
        "queued_tasks": _tasks(
            record for record in executor.tasks.values() if not record.is_delivered and not record.has_ended
        ),
        "completed_tasks": _tasks(record for record in records if record.has_ended),
    }


def _tasks(records: Iterable[TaskRecord]) -> list[Json]:
    return [_task(record.task) for record in records]


def _task(task: mesos_pb2.Task) -> Json:
    shown = {
        "id": task.task_id.value,
        "name": task.name,
        "framework_id": task.framework_id.value,
        "executor_id": task.executor_id.value,
        "slave_id": task.agent_id.value,
        "state": state_name(task.state),
        "resources": Resources.from_proto(task.resources).summary(),
        "role": next((item.allocation_info.role for item in task.resources if item.HasField("allocation_info")), "*"),
        "statuses": [_status(status) for status in task.statuses],
    }
    if task.user:
        shown["user"] = task.user
    if task.HasField("labels"):
        shown["labels"] = message_to_dict(task.labels).get("labels", [])
    for name in ("discovery", "container"):
        if task.HasField(name):
            shown[name] = message_to_dict(getattr(task, name))
    return shown


def _status(status: mesos_pb2.TaskStatus) -> Json:
    shown: Json = {"state": state_name(status.state), "timestamp": status.timestamp}
    if status.HasField("container_status"):
        container = message_to_dict(status.container_status)
        container.pop("executor_pid", None)
        shown["container_status"] = container
    return shown
