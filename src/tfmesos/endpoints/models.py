"""The JSON of things that pages of master and agent show alike (Mesos 1.11: src/common/http.cpp)."""

from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.message import Message

from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2
from tfmesos.wire.json_codec import message_to_dict
from tfmesos.wire.secrets import concealed
from tfmesos.wire.text import state_name

Json = dict[str, Any]
"""A JSON object on its way out; no program reads one inside."""

_SHOWN_OF_CONTAINERS = ("container_id", "network_infos", "cgroup_info", "gpus")  # the last is ours


def task_json(message: mesos_pb2.Task, resources: Resources) -> Json:
    """A task, with the states it went through; `resources` are those of the message, with their role."""
    model: Json = {
        "id": message.task_id.value,
        "name": message.name,
        "framework_id": message.framework_id.value,
        "executor_id": message.executor_id.value,
        "slave_id": message.agent_id.value,
        "state": state_name(message.state),
        "resources": resources.summary(),
    }
    if message.limits:
        model["limits"] = {name: limit.value for name, limit in message.limits.items()}
    model |= {"role": role_of(resources), "statuses": [_status_json(status) for status in message.statuses]}
    if message.HasField("user"):
        model["user"] = message.user
    if message.HasField("labels"):
        model["labels"] = labels_json(message.labels)
    parts: Iterable[tuple[str, Message]] = (
        ("discovery", message.discovery),
        ("container", message.container),
        ("health_check", message.health_check),
    )
    return model | {name: message_to_dict(part) for name, part in parts if message.HasField(name)}  # type: ignore[arg-type]


def command_json(command: mesos_pb2.CommandInfo) -> Json:
    """A command, which differs from the message's own JSON, and has no values of secrets."""
    model: Json = {}
    if command.HasField("shell"):
        model["shell"] = command.shell
    if command.HasField("value"):
        model["value"] = command.value
    model["argv"] = list(command.arguments)
    if command.HasField("environment"):
        model["environment"] = message_to_dict(concealed(command.environment))
    return model | {"uris": [{"value": uri.value, "executable": uri.executable} for uri in command.uris]}


def attributes_json(attributes: Iterable[mesos_pb2.Attribute]) -> Json:
    """Attributes by name: numbers, or texts."""
    return {attribute.name: _attribute_json(attribute) for attribute in attributes}


def labels_json(labels: mesos_pb2.Labels) -> list[Json]:
    """Labels as a list of keys and values."""
    return [message_to_dict(label) for label in labels.labels]


def resources_json(resources: Resources) -> list[Json]:
    """Resources as messages, with the role of old formats where that can be said."""
    return [message_to_dict(message) for message in resources.to_proto("endpoint")]


def reserved(resources: Resources) -> Mapping[str, Resources]:
    """The reserved part by role."""
    roles = sorted({key.reservations[-1].role for key, _ in resources if key.reservations})
    return {role: resources.reserved_to(role) for role in roles}


def role_of(resources: Resources) -> str:
    """The role that resources are allocated to."""
    return next((key.allocated for key, _ in resources if key.allocated), "*")


def names_json(enum: Any, numbers: Iterable[int]) -> list[str]:
    """The names of an enum's numbers; unknown ones are left out."""
    known = set(enum.values())
    return [enum.Name(number) for number in numbers if number in known]


def _status_json(status: mesos_pb2.TaskStatus) -> Json:
    model: Json = {"state": state_name(status.state), "timestamp": status.timestamp}
    if status.HasField("labels"):
        model["labels"] = labels_json(status.labels)
    if status.HasField("container_status"):
        shown = message_to_dict(status.container_status)
        model["container_status"] = {name: shown[name] for name in _SHOWN_OF_CONTAINERS if name in shown}
    if status.HasField("healthy"):
        model["healthy"] = status.healthy
    return model


def _attribute_json(attribute: mesos_pb2.Attribute) -> float | str:
    match attribute.type:
        case mesos_pb2.Value.SCALAR:
            return attribute.scalar.value
        case mesos_pb2.Value.RANGES:
            return "[" + ", ".join(f"{one.begin}-{one.end}" for one in attribute.ranges.range) + "]"
        case mesos_pb2.Value.SET:
            return "{" + ", ".join(attribute.set.item) + "}"
        case _:
            return attribute.text.value
