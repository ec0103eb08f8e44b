"""What the agent tells of itself and its tasks: `/state` (Mesos 1.11)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tfmesos.agent.containerizer import Containerizer
from tfmesos.agent.core import AgentCore, ExecutorRecord, FrameworkRecord, Kind, TaskRecord, has_capability
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.membership.identity import CAPABILITIES, Identity
from tfmesos.agent.membership.registrar import Membership
from tfmesos.endpoints import models, version_info
from tfmesos.endpoints.models import Json
from tfmesos.flags import flag_texts
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2
from tfmesos.wire.json_codec import message_to_dict

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
        "attributes": models.attributes_json(view.identity.attributes),
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
    return Resources.total(Resources.from_proto(resources).unallocated() for resources in held)


def _resource_summaries(resources: Resources, used: Resources) -> Json:
    parts = models.reserved(resources)
    return {
        "resources": resources.summary(),
        "reserved_resources": {role: part.summary() for role, part in parts.items()},
        "unreserved_resources": resources.unreserved().summary(),
        "reserved_resources_full": {role: models.resources_json(part) for role, part in parts.items()},
        "unreserved_resources_full": models.resources_json(resources.unreserved()),
        "reserved_resources_allocated": {role: part.summary() for role, part in models.reserved(used).items()},
        "unreserved_resources_allocated": used.unreserved().summary(),
    }


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
    told = records[0].task if executor.kind is Kind.COMMAND and records else executor.info
    resources = Resources.from_proto(told.resources)
    return {
        "id": executor.executor_id,
        "name": executor.info.name,
        "source": executor.info.source,
        "container": executor.container_id,
        "directory": executor.directory,
        "resources": resources.summary(),
        "role": models.role_of(resources),
        **({"labels": models.labels_json(told.labels)} if told.HasField("labels") else {}),
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
    return [models.task_json(record.task, Resources.from_proto(record.task.resources)) for record in records]


def _queued_task(record: TaskRecord) -> Json:
    """A task that its executor does not know yet, as it came (Mesos 1.11)."""
    info = record.info
    resources = Resources.from_proto(info.resources)
    shown: Json = {
        "id": info.task_id.value,
        "name": info.name,
        "slave_id": info.agent_id.value,
        "resources": resources.summary(),
        "role": models.role_of(resources),
    }
    if info.HasField("command"):
        shown["command"] = models.command_json(info.command)
    if info.HasField("discovery"):
        shown["discovery"] = message_to_dict(info.discovery)
    if info.HasField("executor"):
        shown["executor_id"] = info.executor.executor_id.value
    return shown
