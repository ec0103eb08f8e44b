"""What the kernel should say to a request for a device, in a few lines."""

from __future__ import annotations

from collections.abc import Collection

from tfmesos.cgroups import Device, DeviceRule
from tfmesos.cgroups.devices import merge_rules


def is_allowed(rules: Collection[DeviceRule], request: DeviceRule) -> bool:
    """If `rules` were those of the only cgroup on its way."""
    return any(
        _covers(rule.device, request.device) and set(request.access) <= set(rule.access) for rule in merge_rules(rules)
    )


def _covers(several: Device, one: Device) -> bool:
    return several.type == one.type and several.major in (None, one.major) and several.minor in (None, one.minor)
