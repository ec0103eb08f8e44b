"""FrameworkInfo: the rules for subscribing and for updates."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from math import isfinite

from tfmesos.master.validation.names import id_error, role_error
from tfmesos.wire import mesos_pb2

_MULTI_ROLE = mesos_pb2.FrameworkInfo.Capability.MULTI_ROLE
_MAX_DURATION_S = (2**63 - 1) / 1e9
"""Mesos' Duration: 64 bits of nanoseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkRules:
    """What a framework is judged by besides its own info."""

    whitelist: tuple[str, ...] | None
    root_submissions: bool
    completed: Collection[str]


def framework_roles(info: mesos_pb2.FrameworkInfo) -> list[str]:
    """The roles a framework subscribes to, old and new style."""
    return list(info.roles) if _is_multi_role(info) else [info.role]


def framework_error(info: mesos_pb2.FrameworkInfo, suppressed: Collection[str], rules: FrameworkRules) -> str | None:
    """Why this framework may not subscribe, by the first rule it breaks; None if it may."""
    return (
        _roles_error(info)
        or (id_error(info.id.value) if info.id.value else None)
        or filters_error(info)
        or _whitelist_error(info, rules.whitelist)
        or _suppressed_error(info, suppressed)
        or _user_error(info, rules.root_submissions)
        or ("Framework has been removed" if info.id.value and info.id.value in rules.completed else None)
        or _failover_error(info)
    )


def update_error(old: mesos_pb2.FrameworkInfo, new: mesos_pb2.FrameworkInfo) -> str | None:
    """Why an UPDATE_FRAMEWORK may not change the old info into the new one; None if it may."""
    if old.principal != new.principal:
        return "Changing framework's principal is not allowed."
    if old.user != new.user:
        return f"Updating 'FrameworkInfo.user' is unsupported; attempted to update from '{old.user}' to '{new.user}'"
    if old.checkpoint != new.checkpoint:
        return (
            "Updating 'FrameworkInfo.checkpoint' is unsupported; "
            f"attempted to update from '{str(old.checkpoint).lower()}' to '{str(new.checkpoint).lower()}'"
        )
    return None


def _is_multi_role(info: mesos_pb2.FrameworkInfo) -> bool:
    return any(capability.type == _MULTI_ROLE for capability in info.capabilities)


def _roles_error(info: mesos_pb2.FrameworkInfo) -> str | None:
    if not _is_multi_role(info):
        if info.roles:
            return "'FrameworkInfo.roles' must not be set when the framework is not MULTI_ROLE capable"
        wrong = role_error(info.role)
        return f"'FrameworkInfo.role' is not a valid role: {wrong}" if wrong else None
    if info.HasField("role"):
        return "'FrameworkInfo.role' must not be set when the framework is MULTI_ROLE capable"
    twice = sorted(role for role, count in Counter(info.roles).items() if count > 1)
    if twice:
        return f"'FrameworkInfo.roles' contains duplicate items: {{ {', '.join(twice)} }}"
    wrong = next(filter(None, map(role_error, info.roles)), None)
    return f"'FrameworkInfo.roles' contains invalid role: {wrong}" if wrong else None


def filters_error(info: mesos_pb2.FrameworkInfo) -> str | None:
    """Why its offer filters make no sense; None if they do."""
    for filters in info.offer_filters.values():
        for one in filters.min_allocatable_resources.quantities:
            for name, quantity in one.quantities.items():
                if not isfinite(quantity.value):
                    return f"Invalid resource quantity for '{name}': Non-finite values not supported"
                if quantity.value < 0:
                    return f"Invalid resource quantity for '{name}': Negative values not supported"
    return None


def _whitelist_error(info: mesos_pb2.FrameworkInfo, whitelist: tuple[str, ...] | None) -> str | None:
    if whitelist is None:
        return None
    missing = sorted(set(framework_roles(info)) - {"*", *whitelist})
    return f"Roles {{ {', '.join(missing)} }} are not present in the master's --roles" if missing else None


def _suppressed_error(info: mesos_pb2.FrameworkInfo, suppressed: Collection[str]) -> str | None:
    roles = set(framework_roles(info))
    wrong = next((role for role in suppressed if role not in roles), None)
    return f"Suppressed role '{wrong}' is not contained in the list of roles" if wrong is not None else None


def _user_error(info: mesos_pb2.FrameworkInfo, root_submissions: bool) -> str | None:
    if info.user == "root" and not root_submissions:
        return "User 'root' is not allowed to run frameworks without --root_submissions set"
    return None


def _failover_error(info: mesos_pb2.FrameworkInfo) -> str | None:
    timeout_s = info.failover_timeout
    if abs(timeout_s) < _MAX_DURATION_S:
        return None
    return f"The framework failover_timeout ({timeout_s:g}) is invalid"
