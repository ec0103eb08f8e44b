"""What in a call about containers is refused with 400 before anything is done (Mesos 1.11: slave/validation.cpp)."""

from __future__ import annotations

from collections.abc import Iterable
from signal import valid_signals
from typing import Protocol

from tfmesos.agent.containerizer import container_id_fault
from tfmesos.resources import validate_gpus
from tfmesos.wire import agent_pb2, mesos_pb2

_Call = agent_pb2.Call
_NEEDS_PARENT = (
    _Call.LAUNCH_NESTED_CONTAINER,
    _Call.WAIT_NESTED_CONTAINER,
    _Call.KILL_NESTED_CONTAINER,
    _Call.REMOVE_NESTED_CONTAINER,
    _Call.LAUNCH_NESTED_CONTAINER_SESSION,
)


class _AboutContainer(Protocol):
    @property
    def container_id(self) -> mesos_pb2.ContainerID: ...


def subject(call: agent_pb2.Call) -> mesos_pb2.ContainerID:
    """The container that a call is about."""
    inner: _AboutContainer = getattr(call, _Call.Type.Name(call.type).lower())
    return inner.container_id


def call_fault(call: agent_pb2.Call) -> str | None:
    """Why a call is no good; None if it is. Its inner message is there."""
    name = _Call.Type.Name(call.type).lower()
    container_id = subject(call)
    fault = container_id_fault(container_id)
    if fault:
        return f"'{name}.container_id' is invalid: {fault}"
    if call.type in _NEEDS_PARENT and not container_id.HasField("parent"):
        return f"Expecting '{name}.container_id.parent' to be present"
    if call.type == _Call.LAUNCH_CONTAINER and (fault := validate_gpus(call.launch_container.resources)):
        return f"Invalid GPU resources: {fault}"
    if call.type == _Call.LAUNCH_CONTAINER and not container_id.HasField("parent"):
        fault = _standalone_fault(call.launch_container.resources)
        return f"'{name}.resources' is invalid: {fault}" if fault else None
    if call.type in (_Call.KILL_CONTAINER, _Call.KILL_NESTED_CONTAINER):
        number = kill_signal(call)
        return None if number in valid_signals() else f"'{name}.signal' is invalid: {number} is no signal"
    return None


def kill_signal(call: agent_pb2.Call) -> int:
    """The signal that is to be sent (Mesos 1.11: SIGKILL unless it is said)."""
    kill = call.kill_container if call.type == _Call.KILL_CONTAINER else call.kill_nested_container
    return kill.signal if kill.HasField("signal") else 9


def _standalone_fault(resources: Iterable[mesos_pb2.Resource]) -> str | None:
    """Mesos 1.11: a container that no framework pays for has nobody's reservations."""
    for resource in resources:
        if resource.reservations or resource.HasField("reservation") or resource.role not in ("", "*"):
            return f"resource {resource.name!r} is reserved"
        if resource.HasField("revocable"):
            return f"resource {resource.name!r} is revocable"
        if resource.HasField("disk") and resource.disk.HasField("persistence"):
            return f"resource {resource.name!r} is a persistent volume"
    return None
