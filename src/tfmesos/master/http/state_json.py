"""The JSON models of the GET endpoints, built from the books only when somebody asks (Mesos 1.11)."""

from collections import Counter

from tfmesos.endpoints import models
from tfmesos.endpoints.models import Json
from tfmesos.master.core.books import Agent, Books, Executor, Framework, Offer, Task
from tfmesos.master.core.descriptions import offered_to, used_by
from tfmesos.master.core.lifecycle import FrameworkState
from tfmesos.master.http.texts import TaskTexts
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2
from tfmesos.wire.json_codec import message_to_dict

_NAMES = ("STAGING", "STARTING", "RUNNING", "KILLING", "FINISHED", "KILLED", "FAILED", "LOST", "ERROR", "UNREACHABLE")
_COUNTED = {f"TASK_{name}": mesos_pb2.TaskState.Value(f"TASK_{name}") for name in _NAMES}
_Capability = mesos_pb2.FrameworkInfo.Capability


def agent_info_json(info: mesos_pb2.AgentInfo) -> Json:
    """An entry of `recovered_slaves`, and the beginning of one of `slaves`."""
    model: Json = {
        "id": info.id.value,
        "hostname": info.hostname,
        "port": info.port,
        "attributes": models.attributes_json(info.attributes),
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
        "reserved_resources": {role: part.summary() for role, part in models.reserved(agent.total).items()},
        "unreserved_resources": agent.total.unreserved().summary(),
        "active": agent.is_active,
        "deactivated": agent.is_deactivated,
        "version": agent.version,
        "capabilities": models.names_json(mesos_pb2.AgentInfo.Capability.Type, sorted(agent.capabilities)),
        **_drain(agent),
    }


def full_agent_json(agent: Agent) -> Json:
    """An entry of `/slaves`: with the resources as messages too."""
    return agent_json(agent) | {
        "reserved_resources_full": {
            role: models.resources_json(part) for role, part in models.reserved(agent.total).items()
        },
        "unreserved_resources_full": models.resources_json(agent.total.unreserved()),
        "used_resources_full": models.resources_json(agent.used()),
        "offered_resources_full": models.resources_json(agent.offered()),
    }


def framework_summary_json(framework: Framework, books: Books) -> Json:
    """What every list says of a framework."""
    return _summary(framework, used_by(framework, books), offered_to(framework))


def _summary(framework: Framework, used: Resources, offered: Resources) -> Json:
    info = framework.info
    return {
        "id": framework.id,
        "name": info.name,
        **({"pid": str(framework.pid)} if framework.pid else {}),
        "used_resources": used.summary(),
        "offered_resources": offered.summary(),
        "capabilities": models.names_json(
            mesos_pb2.FrameworkInfo.Capability.Type, [one.type for one in info.capabilities]
        ),
        "hostname": info.hostname,
        "webui_url": info.webui_url,
        "active": framework.is_active,
        "connected": framework.is_connected,
        "recovered": framework.life.state is FrameworkState.RECOVERED,
    }


def framework_json(framework: Framework, books: Books, texts: TaskTexts) -> Json:
    """An entry of `frameworks` and `completed_frameworks`, for `json_object`: tasks are written already."""
    info = framework.info
    used, offered = used_by(framework, books), offered_to(framework)
    model = _summary(framework, used, offered)
    model |= {
        "user": info.user,
        "failover_timeout": info.failover_timeout,
        "checkpoint": info.checkpoint,
        "registered_time": framework.registered_s,
        "unregistered_time": framework.unregistered_s,
    }
    if info.HasField("principal"):
        model["principal"] = info.principal
    model["resources"] = (used + offered).summary()
    if framework.reregistered_s != framework.registered_s:
        model["reregistered_time"] = framework.reregistered_s
    model |= {"roles": list(info.roles)} if framework.has(_Capability.MULTI_ROLE) else {"role": info.role}
    model |= {
        "tasks": texts.list(framework.tasks.values()),
        "unreachable_tasks": texts.list(framework.unreachable.values()),
        "completed_tasks": texts.list(framework.completed),
        "offers": [offer_json(offer) for offer in framework.offers.values()],
        "executors": [executor_json(agent, executor) for agent, executor in books.executors_of(framework.id)],
    }
    if info.HasField("labels"):
        model["labels"] = models.labels_json(info.labels)
    return model | {"offer_constraints": message_to_dict(framework.offer_constraints)}


def task_json(task: Task) -> Json:
    """A task, with the states it went through."""
    return models.task_json(task.message, task.resources)


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
        "command": models.command_json(info.command),
        "resources": executor.resources.summary(),
    }
    if info.resources:
        model["role"] = models.role_of(executor.resources)
    if info.HasField("labels"):
        model["labels"] = models.labels_json(info.labels)
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
