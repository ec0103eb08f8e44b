"""Keeps containers apart: what each may use, and what it may open.

isolator.py           what an isolator is
view.py               what a container sees and may do, as isolators say it
table.py              the isolators that there are, their order, and --isolation (pure)
view_isolators.py     from flags to those that say it:
  filesystem.py       filesystem/linux       docker_runtime.py     docker/runtime (launch_command.py: what is executed)
  rlimits.py          posix/rlimits          linux_devices.py      linux/devices
  capabilities.py     linux/capabilities     no_new_privileges.py  linux/nnp
  namespaces.py       namespaces/*           volumes/              volume/*
secrets.py            environment_secret
sandbox_mount.py      a container's sandbox, as it sees it
allowed_devices.py    devices that all may use, and --allowed_devices
cpu.py                cgroups/cpu
mem.py                cgroups/mem
devices.py            cgroups/devices
container_cgroups.py  which cgroup a container is in
place.py              where the cgroups are, for the next agent
withdrawal.py         waits until a container lets go of devices
isolation.py          all isolators as one, for the containerizer
build.py              from flags to that
errors.py             what goes wrong
"""

from tfmesos.agent.isolators.allowed_devices import parse_allowed_devices
from tfmesos.agent.isolators.build import build_isolation, wanted_isolators
from tfmesos.agent.isolators.capabilities import parse_capabilities
from tfmesos.agent.isolators.errors import IsolationFailed
from tfmesos.agent.isolators.isolation import Isolation, Prepared
from tfmesos.agent.isolators.isolator import OWN, Isolator, LaunchEdits, Limitation, QuietIsolator, Shares
from tfmesos.agent.isolators.place import flags_for_remains, keep_place
from tfmesos.agent.isolators.secrets import environment_of
from tfmesos.agent.isolators.table import IsolatorNames, parse_isolation
from tfmesos.agent.isolators.view import Capabilities, Command, Hook, Mount, Namespace, Node, Rlimit, View

__all__ = [
    "OWN",
    "Capabilities",
    "Command",
    "Hook",
    "Isolation",
    "IsolationFailed",
    "Isolator",
    "IsolatorNames",
    "LaunchEdits",
    "Limitation",
    "Mount",
    "Namespace",
    "Node",
    "Prepared",
    "QuietIsolator",
    "Rlimit",
    "Shares",
    "View",
    "build_isolation",
    "environment_of",
    "flags_for_remains",
    "keep_place",
    "parse_allowed_devices",
    "parse_capabilities",
    "parse_isolation",
    "wanted_isolators",
]
