"""What containers may open beside what they need: the default devices, and --allowed_devices (Mesos 1.11)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfmesos.agent.errors import BadAgentFlags
from tfmesos.flags import FlagError

if TYPE_CHECKING:
    from tfmesos.cgroups import DeviceRule

_BITS = {"read": "r", "write": "w", "mknod": "m"}
_DEFAULT_RULES = (
    "c *:* m",
    "b *:* m",
    "c 5:1 rwm",  # console
    "c 4:0 rwm",  # tty0
    "c 4:1 rwm",  # tty1
    "c 136:* rwm",  # pts
    "c 5:2 rwm",  # ptmx
    "c 10:200 rwm",  # net/tun
    "c 1:3 rwm",  # null
    "c 1:5 rwm",  # zero
    "c 1:7 rwm",  # full
    "c 5:0 rwm",  # tty
    "c 1:9 rwm",  # urandom
    "c 1:8 rwm",  # random
)
"""Mesos 1.11: src/slave/containerizer/mesos/isolators/cgroups/subsystems/devices.cpp, in this order."""


@dataclass(frozen=True, slots=True)
class AllowedDevice:
    """A device node that every container may use; `access`: of r, w, m."""

    path: str
    access: str


def default_rules() -> tuple[DeviceRule, ...]:
    """The devices that no program can do without."""
    from tfmesos.cgroups import DeviceRule

    return tuple(map(DeviceRule.parse, _DEFAULT_RULES))


def parse_allowed_devices(text: str) -> tuple[AllowedDevice, ...]:
    """Of `{"allowed_devices":[{"device":{"path":"/dev/x"},"access":{"read":true}}]}`. Raises FlagError."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise FlagError(f"not a JSON object: {error}") from error
    entries = value.get("allowed_devices", []) if isinstance(value, dict) else None
    if not isinstance(entries, list):
        raise FlagError('expecting a JSON object {"allowed_devices": [...]}')
    return tuple(_allowed_device(entry) for entry in entries)


def allowed_rules(devices: tuple[AllowedDevice, ...]) -> tuple[DeviceRule, ...]:
    """What the nodes stand for now. Raises BadAgentFlags for a path that is no device of this machine."""
    return tuple(map(_rule, devices))


def _allowed_device(entry: object) -> AllowedDevice:
    if not isinstance(entry, Mapping):
        raise FlagError(f"{entry!r} is not an allowed device")
    device, access = entry.get("device"), entry.get("access")
    path = device.get("path") if isinstance(device, Mapping) else None
    if not isinstance(path, str) or not path:
        raise FlagError("The allowed device has no path: 'device.path' is missing")
    if not isinstance(access, Mapping) or not all(name in _BITS and isinstance(access[name], bool) for name in access):
        raise FlagError(f"device '{path}': 'access' is an object of {', '.join(_BITS)}, each true or false")
    bits = "".join(bit for name, bit in _BITS.items() if access.get(name))
    if not bits:
        raise FlagError(f"device '{path}': at least one of {', '.join(_BITS)} must be true")
    return AllowedDevice(path, bits)


def _rule(device: AllowedDevice) -> DeviceRule:
    from tfmesos.cgroups import BadDeviceRule, Device, DeviceRule

    try:
        return DeviceRule(Device.of_node(device.path), device.access)
    except OSError as error:
        raise BadAgentFlags(f"--allowed_devices: '{device.path}': {error.strerror}") from error
    except BadDeviceRule as error:
        raise BadAgentFlags(f"--allowed_devices: {error}") from error
