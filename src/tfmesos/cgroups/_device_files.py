"""Device rules on cgroup version 1: the files devices.allow, devices.deny and devices.list.

kernel: Documentation/admin-guide/cgroup-v1/devices.rst, security/device_cgroup.c. A new cgroup has the rules of its
parent; one whose ancestors were never restricted allows everything, which is listed as `a *:* rwm`.
"""

import contextlib
from collections.abc import Collection, Mapping

from tfmesos.cgroups import _files
from tfmesos.cgroups.devices import ALLOW_ALL, Device, DeviceRule, merge_rules
from tfmesos.cgroups.errors import CgroupError

_UNRESTRICTED = "a *:* rwm"


class DeviceFiles:
    """The rules of one cgroup (DeviceControl).

    `below`: cgroups right below it that have the same rules, if they are there: the kernel takes from them what it
    loses, but gives them nothing that it gains.
    """

    def __init__(self, path: str, below: tuple[str, ...] = ()) -> None:
        self._path = path
        self._below = below

    def read(self) -> list[DeviceRule]:
        """An unrestricted cgroup allows all."""
        return _parse(self._lines())

    def has_rules(self) -> bool:
        """The cgroup's, or of one above it."""
        return _UNRESTRICTED not in self._lines()

    def set(self, rules: Collection[DeviceRule]) -> None:
        """Only what differs is written, additions first: the rest is never touched."""
        lines, wanted = self._lines(), _by_device(rules)
        if _UNRESTRICTED in lines:
            self._deny_all()
            self._change({}, wanted)
            return
        before = _by_device(_parse(lines))
        try:
            self._change(before, wanted)
        except CgroupError:
            with contextlib.suppress(CgroupError):
                self._change(_by_device(self.read()), before)
            raise
        for path in filter(_files.exists, self._below):
            _set_below(path, rules)

    def _lines(self) -> list[str]:
        return _files.read(f"{self._path}/devices.list").splitlines()

    def _deny_all(self) -> None:
        try:
            _files.write(f"{self._path}/devices.deny", "a")
        except CgroupError as error:
            if _files.directories(self._path):
                raise CgroupError(f"{error} (there are cgroups below it already)") from error
            raise

    def _change(self, now: Mapping[Device, str], wanted: Mapping[Device, str]) -> None:
        for device, access in _without(wanted, now).items():
            self._write("devices.allow", DeviceRule(device, access))
        for device, access in _without(now, wanted).items():
            self._write("devices.deny", DeviceRule(device, access))

    def _write(self, name: str, rule: DeviceRule) -> None:
        try:
            _files.write(f"{self._path}/{name}", str(rule))
        except CgroupError as error:
            if isinstance(error.__cause__, PermissionError):
                raise CgroupError(f"{error} (the cgroup above it does not allow that)") from error
            raise


def _set_below(path: str, rules: Collection[DeviceRule]) -> None:
    try:
        DeviceFiles(path).set(rules)
    except CgroupError:
        if _files.exists(path):  # else it has just been removed with its last process
            raise


def _parse(lines: Collection[str]) -> list[DeviceRule]:
    return list(ALLOW_ALL) if _UNRESTRICTED in lines else [DeviceRule.parse(line) for line in lines]


def _by_device(rules: Collection[DeviceRule]) -> dict[Device, str]:
    return {rule.device: rule.access for rule in merge_rules(rules)}


def _without(these: Mapping[Device, str], those: Mapping[Device, str]) -> dict[Device, str]:
    """The letters that only `these` have."""
    left = {device: "".join(sorted(set(access) - set(those.get(device, "")))) for device, access in these.items()}
    return {device: access for device, access in left.items() if access}
