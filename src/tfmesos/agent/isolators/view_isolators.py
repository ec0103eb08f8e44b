"""From flags to the isolators that say what a container sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from tfmesos.agent.capabilities import CapabilitySets
from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.isolators.allowed_devices import parse_allowed_devices
from tfmesos.agent.isolators.capabilities import CapabilitiesIsolator, parse_capabilities
from tfmesos.agent.isolators.docker_runtime import DockerRuntimeIsolator
from tfmesos.agent.isolators.filesystem import LinuxFilesystemIsolator
from tfmesos.agent.isolators.isolator import Isolator
from tfmesos.agent.isolators.linux_devices import LinuxDevicesIsolator, allowed_nodes
from tfmesos.agent.isolators.namespaces import IpcNamespaceIsolator, PidNamespaceIsolator
from tfmesos.agent.isolators.no_new_privileges import NoNewPrivilegesIsolator
from tfmesos.agent.isolators.rlimits import RlimitsIsolator, no_most, own_most
from tfmesos.agent.isolators.table import FILESYSTEM_LINUX, IsolatorNames
from tfmesos.agent.isolators.volumes import (
    HostPathIsolator,
    ImageVolumeIsolator,
    SandboxPathIsolator,
    SecretVolumeIsolator,
)

if TYPE_CHECKING:  # only who has images pays for them
    from tfmesos.agent.images import Images, Provisioner

_Factory = Callable[[AgentFlags, IsolatorNames], Isolator]


def build_view_isolators(
    flags: AgentFlags, names: IsolatorNames, images: Images | None, provisioner: Provisioner | None
) -> Iterator[Isolator]:
    """Those that are named. Raises BadAgentFlags."""
    if ImageVolumeIsolator.name in names:
        yield ImageVolumeIsolator(flags.sandbox_directory, images, provisioner)
    for name, factory in _FACTORIES.items():
        if name in names:
            yield factory(flags, names)


def _filesystem(flags: AgentFlags, names: IsolatorNames) -> Isolator:
    return LinuxFilesystemIsolator(flags.sandbox_directory, has_shm=IpcNamespaceIsolator.name not in names)


def _ipc(flags: AgentFlags, names: IsolatorNames) -> Isolator:
    return IpcNamespaceIsolator(
        may_share_agents=not flags.disallow_sharing_agent_ipc_namespace,
        default_shm_size=flags.default_container_shm_size,
    )


def _pid(flags: AgentFlags, names: IsolatorNames) -> Isolator:
    return PidNamespaceIsolator(may_share_agents=not flags.disallow_sharing_agent_pid_namespace)


def _capabilities(flags: AgentFlags, names: IsolatorNames) -> Isolator:
    effective = parse_capabilities(flags.effective_capabilities) if flags.effective_capabilities else None
    bounding = parse_capabilities(flags.bounding_capabilities) if flags.bounding_capabilities else None
    if effective is not None and bounding is not None and not effective <= bounding:
        excess = ", ".join(sorted(effective - bounding))
        raise BadAgentFlags(f"--effective_capabilities: {excess} not allowed by --bounding_capabilities")
    own = CapabilitySets.read()
    return CapabilitiesIsolator(effective, bounding, own.permitted & own.bounding)


def _rlimits(flags: AgentFlags, names: IsolatorNames) -> Isolator:
    may_raise = "CAP_SYS_RESOURCE" in CapabilitySets.read().effective
    return RlimitsIsolator(no_most if may_raise else own_most)


def _devices(flags: AgentFlags, names: IsolatorNames) -> Isolator:
    allowed = parse_allowed_devices(flags.allowed_devices) if flags.allowed_devices else ()
    return LinuxDevicesIsolator(allowed_nodes(allowed))


def _sandbox_path(flags: AgentFlags, names: IsolatorNames) -> Isolator:
    return SandboxPathIsolator(flags.sandbox_directory, can_mount=FILESYSTEM_LINUX in names)


_FACTORIES: Mapping[str, _Factory] = {
    LinuxFilesystemIsolator.name: _filesystem,
    RlimitsIsolator.name: _rlimits,
    DockerRuntimeIsolator.name: lambda flags, names: DockerRuntimeIsolator(is_ignored=flags.docker_ignore_runtime),
    LinuxDevicesIsolator.name: _devices,
    CapabilitiesIsolator.name: _capabilities,
    NoNewPrivilegesIsolator.name: lambda flags, names: NoNewPrivilegesIsolator(),
    IpcNamespaceIsolator.name: _ipc,
    PidNamespaceIsolator.name: _pid,
    SandboxPathIsolator.name: _sandbox_path,
    HostPathIsolator.name: lambda flags, names: HostPathIsolator(
        flags.sandbox_directory, flags.host_path_volume_force_creation
    ),
    SecretVolumeIsolator.name: lambda flags, names: SecretVolumeIsolator(flags.runtime_path, flags.sandbox_directory),
}
"""filesystem/posix and environment_secret have nothing to say: refusals and the environment see to them."""
