"""The JSON models of the GET endpoints, built from the books only when somebody asks (Mesos 1.11)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.message import Message

from tfmesos.master.core.books import Agent, Books, Executor, Framework, Offer, Task
from tfmesos.master.core.descriptions import offered_to, used_by
from tfmesos.master.core.lifecycle import FrameworkState
from tfmesos.master.http.texts import TaskTexts
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2
from tfmesos.wire.json_codec import message_to_dict
from tfmesos.wire.text import state_name

Json = dict[str, Any]
"""A JSON object on its way out; nothing inside the master reads one."""

_NAMES = ("STAGING", "STARTING", "RUNNING", "KILLING", "FINISHED", "KILLED", "FAILED", "LOST", "ERROR", "UNREACHABLE")
_COUNTED = {f"TASK_{name}": mesos_pb2.TaskState.Value(f"TASK_{name}") for name in _NAMES}
_MULTI_ROLE = mesos_pb2.FrameworkInfo.Capability.MULTI_ROLE


def agent_info_json(info: mesos_pb2.AgentInfo) -> Json:
    """An entry of `recovered_slaves`, and the beginning of one of `slaves`."""
    model: Json = {
        "id": info.id.value,
        "hostname": info.hostname,
        "port": info.port,
        "attributes": {one.name: _attribute(one) for one in info.attributes},
    }
    return model | ({"domain": message_to_dict(info.domain)} if info.HasField("domain") else {})


def agent_json(agent: Agent) -> Json:
    """An entry of `slaves`."""
    model = agent_info_json(agent.info) | {"pid": str(agent.pid), "registered_time": agent.registered_s}
    if agent.reregistered_s is not None:
        model["reregistered_time"] = agent.reregistered_s
    return model | {
        "resources": agent.total.summary(),
        "used_resources": agent.used().summary(),
        "offered_resources": agent.offered().summary(),
        "reserved_resources": {role: part.summary() for role, part in _reserved(agent.total).items()},
        "unreserved_resources": agent.total.unreserved().summary(),
        "active": agent.is_active,
        "deactivated": agent.is_deactivated,
        "version": agent.version,
        "capabilities": _names(mesos_pb2.AgentInfo.Capability.Type, sorted(agent.capabilities)),
        **_drain(agent),
    }


def full_agent_json(agent: Agent) -> Json:
    """An entry of `/slaves`: with the resources as messages too."""
    return agent_json(agent) | {
        "reserved_resources_full": {role: _messages(part) for role, part in _reserved(agent.total).items()},
        "unreserved_resources_full": _messages(agent.total.unreserved()),
        "used_resources_full": _messages(agent.used()),
        "offered_resources_full": _messages(agent.offered()),
    }


def framework_summary_json(framework: Framework, books: Books) -> Json:
    """What every list says of a framework."""
    info = framework.info
    return {
        "id": framework.id,
        "name": info.name,
        "used_resources": used_by(framework, books).summary(),
        "offered_resources": offered_to(framework).summary(),
        "capabilities": _names(mesos_pb2.FrameworkInfo.Capability.Type, [one.type for one in info.capabilities]),
        "hostname": info.hostname,
        "webui_url": info.webui_url,
        "active": framework.is_connected,
        "connected": framework.is_connected,
        "recovered": framework.life.state is FrameworkState.RECOVERED,
    }


def framework_json(framework: Framework, books: Books, texts: TaskTexts) -> Json:
    """An entry of `frameworks` and `completed_frameworks`, for `json_object`: tasks are written already."""
    info = framework.info
    model = framework_summary_json(framework, books)
    model |= {
        "user": info.user,
        "failover_timeout": info.failover_timeout,
        "checkpoint": info.checkpoint,
        "registered_time": framework.registered_s,
        "unregistered_time": framework.unregistered_s,
    }
    if info.HasField("principal"):
        model["principal"] = info.principal
    model["resources"] = (used_by(framework, books) + offered_to(framework)).summary()
    if framework.reregistered_s != framework.registered_s:
        model["reregistered_time"] = framework.reregistered_s
    model |= {"roles": list(info.roles)} if framework.has(_MULTI_ROLE) else {"role": info.role}
    model |= {
        "tasks": texts.list(framework.tasks.values()),
        "unreachable_tasks": texts.list(framework.unreachable.values()),
        "completed_tasks": texts.list(framework.completed),
        "offers": [offer_json(offer) for offer in framework.offers.values()],
        "executors": [executor_json(agent, executor) for agent, executor in books.executors_of(framework.id)],
    }
    if info.HasField("labels"):
        model["labels"] = _labels(info.labels)
    return model | {"offer_constraints": message_to_dict(framework.offer_constraints)}


def task_json(task: Task) -> Json:
    """A task, with the states it went through."""
    message = task.message
    model: Json = {
        "id": message.task_id.value,
        "name": message.name,
        "framework_id": message.framework_id.value,
        "executor_id": message.executor_id.value,
        "slave_id": message.agent_id.value,
        "state": state_name(message.state),
        "resources": task.resources.summary(),
    }
    if message.limits:
        model["limits"] = {name: limit.value for name, limit in message.limits.items()}
    model |= {
        "role": next((key.allocated for key, _ in task.resources if key.allocated), "*"),
        "statuses": [_status(status) for status in message.statuses],
    }
    if message.HasField("user"):
        model["user"] = message.user
    if message.HasField("labels"):
        model["labels"] = _labels(message.labels)
    parts: Iterable[tuple[str, Message]] = (
        ("discovery", message.discovery),
        ("container", message.container),
        ("health_check", message.health_check),
    )
    return model | {name: message_to_dict(part) for name, part in parts if message.HasField(name)}  # type: ignore[arg-type]


def offer_json(offer: Offer) -> Json:
    """An outstanding offer."""
    return {
        "id": offer.id,
        "framework_id": offer.framework_id,
        "allocation_info": {"role": offer.role},
        "slave_id": offer.agent_id,
        "resources": offer.resources.summary(),
    }


def executor_json(agent: Agent, executor: Executor) -> Json:
    """A custom executor."""
    info = executor.info
    model: Json = {
        "executor_id": info.executor_id.value,
        "name": info.name,
        "framework_id": info.framework_id.value,
        "command": message_to_dict(info.command),
        "resources": executor.resources.summary(),
    }
    if info.HasField("labels"):
        model["labels"] = _labels(info.labels)
    if info.HasField("type"):
        model["type"] = mesos_pb2.ExecutorInfo.Type.Name(info.type)
    return model | {"slave_id": agent.id}


def task_counts(states: Counter[int]) -> Json:
    """The counters of `/state-summary`, from how many tasks are in which state."""
    return {name: states[number] for name, number in _COUNTED.items()}


def _drain(agent: Agent) -> Json:
    if agent.drain is None:
        return {}
    began: Json = {}
    if agent.drain_started_s is not None:
        began["estimated_drain_start_time_seconds"] = float(int(agent.drain_started_s))
    return {"drain_info": message_to_dict(agent.drain)} | began


def _messages(resources: Resources) -> list[Json]:
    return [message_to_dict(message) for message in resources.to_proto("endpoint")]


def _reserved(total: Resources) -> Mapping[str, Resources]:
    roles = sorted({key.reservations[-1].role for key, _ in total if key.reservations})
    return {role: total.reserved_to(role) for role in roles}


def _labels(labels: mesos_pb2.Labels) -> list[Json]:
    return [message_to_dict(label) for label in labels.labels]


def _status(status: mesos_pb2.TaskStatus) -> Json:
    model: Json = {"state": state_name(status.state), "timestamp": status.timestamp}
    if status.HasField("labels"):
        model["labels"] = _labels(status.labels)
    if status.HasField("container_status"):
        shown = message_to_dict(status.container_status)
        model["container_status"] = {
            name: shown[name] for name in ("container_id", "network_infos", "cgroup_info") if name in shown
        }
    if status.HasField("healthy"):
        model["healthy"] = status.healthy
    return model


def _attribute(attribute: mesos_pb2.Attribute) -> float | str:
    match attribute.type:
        case mesos_pb2.Value.SCALAR:
            return attribute.scalar.value
        case mesos_pb2.Value.RANGES:
            return "[" + ", ".join(f"{one.begin}-{one.end}" for one in attribute.ranges.range) + "]"
        case mesos_pb2.Value.SET:
            return "{" + ", ".join(attribute.set.item) + "}"
        case _:
            return attribute.text.value


def _names(enum: Any, numbers: Iterable[int]) -> list[str]:
    known = set(enum.values())
    return [enum.Name(number) for number in numbers if number in known]
