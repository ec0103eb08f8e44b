"""Is this agent still the one that its work directory remembers? (Mesos 1.11: --reconfiguration_policy)"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from tfmesos.resources import Ranges, Resources
from tfmesos.wire import mesos_pb2


class Policy(Enum):
    """What may change between two starts of an agent."""

    EQUAL = "equal"
    """Nothing."""
    ADDITIVE = "additive"
    """Resources and attributes may be added and grow."""


def difference(
    before: mesos_pb2.AgentInfo, now: mesos_pb2.AgentInfo, policy: Policy, *, is_port_free: bool
) -> str | None:
    """What forbids that the agent goes on under its old id; None if it may. `is_port_free`: any port was asked for."""
    if before.hostname != now.hostname:
        return f"its hostname was {before.hostname}, now it is {now.hostname}"
    if before.port != now.port and not is_port_free:
        return f"its port was {before.port}, now it is {now.port}"
    if before.domain != now.domain:
        return "its fault domain has changed"
    return _resource_difference(before, now, policy) or _attribute_difference(before, now, policy)


def _resource_difference(before: mesos_pb2.AgentInfo, now: mesos_pb2.AgentInfo, policy: Policy) -> str | None:
    had, has = Resources.from_proto(before.resources), Resources.from_proto(now.resources)
    may_go_on = had == has if policy is Policy.EQUAL else has.contains(had)
    return None if may_go_on else f"its resources were {had}, now they are {has}"


def _attribute_difference(before: mesos_pb2.AgentInfo, now: mesos_pb2.AgentInfo, policy: Policy) -> str | None:
    had, has = {one.name: one for one in before.attributes}, {one.name: one for one in now.attributes}
    if policy is Policy.EQUAL and had.keys() != has.keys():
        return f"its attributes were {_names(had)}, now they are {_names(has)}"
    for name, attribute in had.items():
        if name not in has:
            return f"its attribute {name} is gone"
        if attribute != has[name] and not (policy is Policy.ADDITIVE and _has_grown(attribute, has[name])):
            return f"its attribute {name} has changed"
    return None


def _has_grown(before: mesos_pb2.Attribute, now: mesos_pb2.Attribute) -> bool:
    """Only ranges can (Mesos 1.11)."""
    if before.type != mesos_pb2.Value.RANGES or now.type != mesos_pb2.Value.RANGES:
        return False
    return _ranges(before) in _ranges(now)


def _ranges(attribute: mesos_pb2.Attribute) -> Ranges:
    return Ranges((part.begin, part.end) for part in attribute.ranges.range)


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
