"""From flags to isolators: what this machine must have for each, and where to get it if it has not."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.isolators.allowed_devices import allowed_rules, parse_allowed_devices
from tfmesos.agent.isolators.container_cgroups import FREEZER, ContainerCgroups
from tfmesos.agent.isolators.cpu import CpuIsolator
from tfmesos.agent.isolators.devices import DevicesIsolator
from tfmesos.agent.isolators.isolation import Isolation
from tfmesos.agent.isolators.isolator import Isolator
from tfmesos.agent.isolators.mem import MemIsolator
from tfmesos.agent.isolators.table import (
    DOCKER_RUNTIME,
    FILESYSTEM_LINUX,
    TABLE,
    Entry,
    IsolatorNames,
    dependency_fault,
    parse_isolation,
)
from tfmesos.agent.isolators.view_isolators import build_view_isolators
from tfmesos.cgroups import CgroupError, Hierarchies
from tfmesos.flags import FlagError

if TYPE_CHECKING:  # only who has images pays for them
    from tfmesos.agent.images import Images, Provisioner

_ADVICE = f"add {DOCKER_RUNTIME} to --isolation"
_log = logging.getLogger(__name__)
_CONTROLLERS = tuple(entry.controller for entry in TABLE if entry.controller is not None)
_Factory = Callable[[AgentFlags, ContainerCgroups], Isolator]


def _build_devices(flags: AgentFlags, cgroups: ContainerCgroups) -> Isolator:
    devices = parse_allowed_devices(flags.allowed_devices) if flags.allowed_devices else ()
    return DevicesIsolator(allowed_rules(devices))


_FACTORIES: Mapping[str, _Factory] = {
    CpuIsolator.name: lambda flags, cgroups: CpuIsolator(cgroups, has_quota=flags.cgroups_enable_cfs),
    MemIsolator.name: lambda flags, cgroups: MemIsolator(cgroups, with_swap=flags.cgroups_limit_swap),
    DevicesIsolator.name: _build_devices,
}
"""Those of cgroups that do something of their own; cgroups/pids only has its cgroup. posix/* do nothing."""


def wanted_isolators(flags: AgentFlags, hierarchies: Hierarchies | None = None) -> IsolatorNames:
    """The isolators that --isolation names, in the table's order, if this machine has what they need.

    Raises BadAgentFlags: the text names what is missing, and the remedy.
    """
    hierarchies = hierarchies or Hierarchies.detect(base=flags.cgroups_hierarchy)
    try:
        names = parse_isolation(flags.isolation)
    except FlagError as error:
        raise BadAgentFlags(f"--isolation: {error}") from error
    fault = dependency_fault(names)
    if fault:
        raise BadAgentFlags(f"--isolation: {fault}")
    _check_images(flags, names)
    if names.has_all_cgroups and os.geteuid() != 0:
        raise BadAgentFlags(_needs_root("cgroups/all"))
    names = names.with_cgroups(name for name in _CONTROLLERS if hierarchies.faults(name) is None)
    for entry in names.entries():
        _check(entry, hierarchies)
    if "gpu/nvidia" in names and "cgroups/devices" not in names:  # cgroups/all, on a machine without
        _check(next(entry for entry in TABLE if entry.controller == "devices"), hierarchies)
    return names


def build_isolation(
    flags: AgentFlags,
    owner: str,
    others: Iterable[Isolator] = (),
    *,
    images: Images | None = None,
    provisioner: Provisioner | None = None,
) -> Isolation:
    """What the flags ask for; `others` are isolators of --isolation that are made elsewhere (of GPUs).

    `owner` tells apart the cgroups of agents with the same --cgroups_root: a name that the agent after this has, too.

    Raises BadAgentFlags: the text names what is missing on this machine, and the remedy.
    """
    hierarchies = Hierarchies.detect(base=flags.cgroups_hierarchy)
    names = wanted_isolators(flags, hierarchies)
    controllers = [entry.controller for entry in names.entries() if entry.controller is not None]
    if "cpu" in controllers and hierarchies.faults("cpuacct") is None:
        controllers.append("cpuacct")  # it counts what is used, where that is another tree
    if _uses_linux_launcher(flags, hierarchies):
        controllers.append(FREEZER)
    elif names.has_views:
        viewed = next(entry.name for entry in names.entries() if entry.is_viewed)
        raise BadAgentFlags(
            f"--isolation: Failed to create isolator '{viewed}': it requires the 'linux' launcher: --launcher=linux"
        )
    if flags.image_providers and DOCKER_RUNTIME not in names:
        _log.warning("images start without their entry point, command, environment and working directory: %s", _ADVICE)
    try:
        found = ContainerCgroups(hierarchies, flags.cgroups_root, controllers, owner)
    except CgroupError as error:
        raise BadAgentFlags(f"--isolation: {error}") from error
    cgroups = found if controllers or any(found.left()) else None  # an agent before may have left some
    if cgroups is None:
        found.close()
    made = {isolator.name: isolator for isolator in (*others, *build_view_isolators(flags, names, images, provisioner))}
    if cgroups is not None:
        made |= {name: _FACTORIES[name](flags, cgroups) for name in names.names if name in _FACTORIES}
    isolators = [made[name] for name in names.names if name in made]
    return Isolation(isolators, cgroups, destroy_timeout_s=flags.cgroups_destroy_timeout)


def _check_images(flags: AgentFlags, names: IsolatorNames) -> None:
    if not flags.image_providers:
        return
    if FILESYSTEM_LINUX not in names:
        raise BadAgentFlags(
            f"--image_providers: The '{FILESYSTEM_LINUX}' isolator must be enabled for container image support: "
            f"--isolation={FILESYSTEM_LINUX},{DOCKER_RUNTIME}"
        )
    if flags.launcher == "posix":
        raise BadAgentFlags(
            "--image_providers: The 'linux' launcher must be used for container image support: --launcher=linux"
        )


def _uses_linux_launcher(flags: AgentFlags, hierarchies: Hierarchies) -> bool:
    """Mesos 1.11: unless it is said, for root where the freezer is."""
    if flags.launcher == "posix":
        return False
    fault = "it needs root" if os.geteuid() != 0 else hierarchies.faults(FREEZER)
    if fault and flags.launcher == "linux":
        raise BadAgentFlags(f"--launcher=linux: {fault}; or use --launcher=posix")
    return fault is None


def _check(entry: Entry, hierarchies: Hierarchies) -> None:
    if entry.needs_root and os.geteuid() != 0:
        raise BadAgentFlags(_needs_root(entry.name))
    fault = hierarchies.faults(entry.controller) if entry.controller is not None else None
    if fault:
        raise BadAgentFlags(f"--isolation: Failed to create isolator '{entry.name}': {fault}")


def _needs_root(name: str) -> str:
    return f"--isolation: Failed to create isolator '{name}': it requires root privileges: run the agent as root"
