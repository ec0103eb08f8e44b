"""Cgroups of both versions: groups of processes with device rules, limits and a sure end. Knows no Mesos, no GPUs.

Promises:

* a cgroup is one thing, whatever trees and versions it lies in (`Cgroups`, `Cgroup`);
* device rules mean the same on both versions, change in one step for those who stay allowed, and outlive this process;
* programs and cgroups of others are left alone;
* `Cgroup.destroy` returns when no process of it is left anywhere and no directory.

Calls are a few writes to the kernel each and do not wait, except `destroy` and `wait_oom`. Standard library only.
"""

from tfmesos.cgroups.cgroup import Cgroup
from tfmesos.cgroups.cgroups import Cgroups, Lineage, guest_path
from tfmesos.cgroups.controls import (
    CpuControl,
    CpuUsage,
    DeviceControl,
    MemoryControl,
    MemoryUsage,
)
from tfmesos.cgroups.devices import ALLOW_ALL, Device, DeviceRule, DeviceType
from tfmesos.cgroups.errors import BadDeviceRule, CgroupError
from tfmesos.cgroups.hierarchies import Hierarchies, Hierarchy

__all__ = [
    "ALLOW_ALL",
    "BadDeviceRule",
    "Cgroup",
    "CgroupError",
    "Cgroups",
    "CpuControl",
    "CpuUsage",
    "Device",
    "DeviceControl",
    "DeviceRule",
    "DeviceType",
    "Hierarchies",
    "Hierarchy",
    "Lineage",
    "MemoryControl",
    "MemoryUsage",
    "guest_path",
]
