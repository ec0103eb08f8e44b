"""What in a container this agent cannot serve: refused with a text before anything is made, never ignored."""

from __future__ import annotations

import os
from collections.abc import Iterator

from tfmesos.agent.containerizer.config import ContainerConfig
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.isolators import parse_isolation
from tfmesos.agent.isolators.secrets import secret_fault, variable_fault
from tfmesos.agent.isolators.volumes.kinds import VolumeKind, host_path_of, kind_of
from tfmesos.resources import validate_gpus
from tfmesos.wire import mesos_pb2
from tfmesos.wire.volumes import volume_fault

_Container = mesos_pb2.ContainerInfo
_Linux = mesos_pb2.LinuxInfo
_IMAGES = "--image_providers=docker, and filesystem/linux and docker/runtime in --isolation"


class Refusals:
    """Of an agent with these flags."""

    def __init__(self, flags: AgentFlags) -> None:
        self._isolators = parse_isolation(flags.isolation)
        self._has_images = "DOCKER" in flags.image_providers and "filesystem/linux" in self._isolators

    def fault(self, config: ContainerConfig) -> str | None:
        """Why the container cannot be made here; None if it can. Of one of the Docker engine that says the engine."""
        container = config.container
        is_of_docker = container is not None and container.type == _Container.DOCKER
        return (
            (None if is_of_docker else self._value_fault(config))
            or _text_fault(config.command)
            or _resource_fault(config)
            or (None if is_of_docker or container is None else next(self._container_faults(container, config), None))
        )

    def _value_fault(self, config: ContainerConfig) -> str | None:
        """A command must say what to run, unless an image may."""
        if config.command.value:
            return None
        has_image = config.container is not None and config.container.mesos.HasField("image")
        if has_image and "docker/runtime" in self._isolators:
            return None
        return "the command has no value"

    def _container_faults(self, container: mesos_pb2.ContainerInfo, config: ContainerConfig) -> Iterator[str]:
        if container.mesos.HasField("image"):
            if config.is_debug:
                yield "a DEBUG container has the image of the container around it, and none of its own"
            yield from self._image_faults(container.mesos.image)
        if container.HasField("hostname"):
            yield "hostname of containers is not supported by this agent"
        if any(network.name or network.port_mappings for network in container.network_infos):
            yield "container networks are not supported by this agent"
        for what, isolator in _wants(container):
            if isolator not in self._isolators:
                yield f"{what} of containers needs '{isolator}' in the --isolation of this agent"
        for volume in container.volumes:
            yield from self._volume_faults(volume, config)

    def _image_faults(self, image: mesos_pb2.Image) -> Iterator[str]:
        if image.type != mesos_pb2.Image.DOCKER:
            yield f"Unsupported container image type: {mesos_pb2.Image.Type.Name(image.type)}"
        if not self._has_images:
            yield f"Container root filesystems not supported by this agent: it needs {_IMAGES}"

    def _volume_faults(self, volume: mesos_pb2.Volume, config: ContainerConfig) -> Iterator[str]:
        fault = volume_fault(volume)
        if fault:
            yield f"Invalid volume: {fault}"
            return
        kind = kind_of(volume)
        if config.is_debug:
            yield f"{kind.name} volume is not supported for DEBUG containers"
        if kind.value not in self._isolators and _is_host_itself(volume, kind):
            if not os.path.exists(volume.container_path):
                yield f"Path '{volume.container_path}' in HOST_PATH volume does not exist"
        elif kind.value not in self._isolators:
            needed = "filesystem/linux" if kind is VolumeKind.HOST_PATH else kind.value
            yield (
                f"Volumes in ContainerInfo is not supported by this agent: {_described(volume, kind)}; it needs "
                f"'{needed}' in --isolation"
            )
        if kind is VolumeKind.IMAGE:
            yield from self._image_faults(volume.image)
        if kind is VolumeKind.SECRET and (secret := secret_fault(volume.source.secret)):
            yield f"volume at {volume.container_path}: {secret}"


def _text_fault(command: mesos_pb2.CommandInfo) -> str | None:
    variables = command.environment.variables
    fault = next(filter(None, map(variable_fault, variables)), None)
    if fault:
        return fault
    texts = [command.value, *command.arguments, *(variable.value for variable in variables)]
    texts += [variable.name for variable in variables]
    if any("\0" in text for text in texts):
        return "the command or its environment contains a zero byte"
    return None


def _resource_fault(config: ContainerConfig) -> str | None:
    if any(resource.HasField("disk") for resource in config.resources):
        return "persistent volumes and disks are not supported by this agent yet"
    return validate_gpus(config.resources)


def _wants(container: mesos_pb2.ContainerInfo) -> Iterator[tuple[str, str]]:
    """What it says, and which isolator heeds it. That a namespace is shared needs none: it is, without."""
    if container.HasField("rlimit_info"):
        yield "rlimit_info", "posix/rlimits"
    linux = container.linux_info
    for name in ("effective_capabilities", "capability_info", "bounding_capabilities"):
        if linux.HasField(name):
            yield f"linux_info.{name}", "linux/capabilities"
    if linux.ipc_mode == _Linux.PRIVATE:
        yield "linux_info.ipc_mode", "namespaces/ipc"
    if linux.HasField("shm_size"):
        yield "linux_info.shm_size", "namespaces/ipc"
    if linux.HasField("seccomp") and not linux.seccomp.unconfined:
        yield "linux_info.seccomp", "linux/seccomp"


def _is_host_itself(volume: mesos_pb2.Volume, kind: VolumeKind) -> bool:
    """Without an image a volume whose two paths are the same needs nothing: the task sees the host's files anyway."""
    is_writable_path = kind is VolumeKind.HOST_PATH and volume.mode == mesos_pb2.Volume.RW
    return is_writable_path and host_path_of(volume) == volume.container_path


def _described(volume: mesos_pb2.Volume, kind: VolumeKind) -> str:
    if kind is not VolumeKind.HOST_PATH:
        return f"{kind.name} at {volume.container_path}"
    access = " (read-only)" if volume.mode == mesos_pb2.Volume.RO else ""
    return f"{host_path_of(volume)} at {volume.container_path}{access}"
