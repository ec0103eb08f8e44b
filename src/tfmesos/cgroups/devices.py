"""Which device nodes may be opened, read, written and made: rules as both cgroup versions understand them. Pure.

A request is allowed if one rule covers all of it: `c 1:3 r` and `c 1:3 w` are one rule `c 1:3 rw`, but `c 1:* r` and
`c 1:3 w` do not allow to open 1:3 for reading and writing (kernel: security/device_cgroup.c, match_exception).
"""

import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tfmesos.cgroups.errors import BadDeviceRule

DeviceType = Literal["c", "b"]

ACCESSES = "rwm"
MAJOR_MAX = 2**12 - 1  # kernel: include/linux/kdev_t.h, MINORBITS 20
MINOR_MAX = 2**20 - 1
_RULE = re.compile(r"([cb]) ([0-9]{1,10}|\*):([0-9]{1,10}|\*) ([rwm]+)")


@dataclass(frozen=True, slots=True)
class Device:
    """A character ("c") or block ("b") device by its numbers; None stands for every number."""

    type: DeviceType
    major: int | None
    minor: int | None

    def __post_init__(self) -> None:
        """Raises BadDeviceRule."""
        if self.type not in ("c", "b"):
            raise BadDeviceRule(f"A device is of type 'c' or 'b', not {self.type!r}")
        _check_number("major", self.major, MAJOR_MAX)
        _check_number("minor", self.minor, MINOR_MAX)

    def __str__(self) -> str:
        return f"{self.type} {_print_number(self.major)}:{_print_number(self.minor)}"

    @classmethod
    def of_node(cls, path: str | os.PathLike[str]) -> "Device":
        """The device whose node (or a link to it) lies at `path`; OSError, or BadDeviceRule if it is none."""
        device = cls.of_status(os.stat(path))
        if device is None:
            raise BadDeviceRule(f"{Path(path)} is neither a character nor a block device")
        return device

    @classmethod
    def of_status(cls, status: os.stat_result) -> "Device | None":
        """The same for a node that was looked at; None if it is none of a device."""
        if stat.S_ISCHR(status.st_mode):
            return cls("c", os.major(status.st_rdev), os.minor(status.st_rdev))
        if stat.S_ISBLK(status.st_mode):
            return cls("b", os.major(status.st_rdev), os.minor(status.st_rdev))
        return None


@dataclass(frozen=True, slots=True)
class DeviceRule:
    """What may be done with a device: `access` holds some of "r" (read), "w" (write), "m" (make a node)."""

    device: Device
    access: str = ACCESSES

    def __post_init__(self) -> None:
        """Puts the letters in order; raises BadDeviceRule."""
        if not self.access or not set(self.access) <= set(ACCESSES):
            raise BadDeviceRule(f"An access consists of the letters r, w and m, not of {self.access!r}")
        object.__setattr__(self, "access", _in_order(self.access))

    def __str__(self) -> str:
        return f"{self.device} {self.access}"

    @classmethod
    def parse(cls, text: str) -> "DeviceRule":
        """From the kernel's notation, as `c 195:0 rwm` or `b *:* m`; raises BadDeviceRule."""
        found = _RULE.fullmatch(text)
        if found is None:
            raise BadDeviceRule(
                f"Bad device rule {text!r}: expecting a type, numbers and an access as in 'c 195:* rwm'"
            )
        kind, major, minor, access = found.groups()
        return cls(Device("c" if kind == "c" else "b", _parse_number(major), _parse_number(minor)), access)


def merge_rules(rules: Iterable[DeviceRule]) -> list[DeviceRule]:
    """One rule for each device, in the order of their first mention: what both kernels make of a list of rules."""
    accesses: dict[Device, str] = {}
    for rule in rules:
        accesses[rule.device] = accesses.get(rule.device, "") + rule.access
    return [DeviceRule(device, access) for device, access in accesses.items()]


def _in_order(access: str) -> str:
    return "".join(letter for letter in ACCESSES if letter in access)


def _check_number(name: str, number: int | None, maximum: int) -> None:
    if number is not None and not 0 <= number <= maximum:
        raise BadDeviceRule(f"The {name} number of a device is within 0 and {maximum}, not {number}")


def _parse_number(text: str) -> int | None:
    return None if text == "*" else int(text)


def _print_number(number: int | None) -> str:
    return "*" if number is None else str(number)


ALLOW_ALL = (DeviceRule(Device("c", None, None)), DeviceRule(Device("b", None, None)))
