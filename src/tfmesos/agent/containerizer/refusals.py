"""What in a container this agent cannot serve yet: refused with a text, never ignored."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tfmesos.agent.containerizer.config import ContainerConfig
from tfmesos.resources import validate_gpus
from tfmesos.wire import mesos_pb2

_Container = mesos_pb2.ContainerInfo


def config_fault(config: ContainerConfig) -> str | None:
    """Why the container cannot be made here; None if it can."""
    return (
        _command_fault(config.command)
        or _resource_fault(config.resources)
        or (_container_fault(config.container) if config.container is not None else None)
    )


def _command_fault(command: mesos_pb2.CommandInfo) -> str | None:
    if not command.value:
        return "the command has no value"
    for variable in command.environment.variables:
        if variable.type == mesos_pb2.Environment.Variable.SECRET:
            return f"secrets are not supported by this agent yet: environment variable {variable.name}"
    texts = [command.value, *command.arguments, *(variable.value for variable in command.environment.variables)]
    if any("\0" in text for text in texts):
        return "the command or its environment contains a zero byte"
    return None


def _resource_fault(resources: Sequence[mesos_pb2.Resource]) -> str | None:
    if any(resource.HasField("disk") for resource in resources):
        return "persistent volumes and disks are not supported by this agent yet"
    return validate_gpus(resources)


def _container_fault(container: mesos_pb2.ContainerInfo) -> str | None:
    if container.type == _Container.DOCKER:
        return "Docker containers are not supported by this agent yet"
    if container.HasField("mesos") and container.mesos.HasField("image"):
        return "container images are not supported by this agent yet"
    for name in ("hostname", "rlimit_info"):
        if container.HasField(name):
            return f"{name} of containers is not supported by this agent yet"
    for field, _ in container.linux_info.ListFields():
        if field.name != "share_cgroups":  # which isolation heeds
            return f"linux_info.{field.name} of containers is not supported by this agent yet"
    if any(network.name or network.port_mappings for network in container.network_infos):
        return "container networks are not supported by this agent yet"
    return next(filter(None, map(_volume_fault, container.volumes)), None)


def _volume_fault(volume: mesos_pb2.Volume) -> str | None:
    """Without an image a volume whose two paths are the same needs nothing: the task sees the host's files anyway."""
    host = _host_path(volume)
    place = volume.container_path
    if host != place or not os.path.isabs(place):
        return f"volumes are not supported by this agent yet: {host or volume.source} at {place}"
    if volume.mode == mesos_pb2.Volume.RO:
        return f"read-only volumes are not supported by this agent yet: {place}"
    if not os.path.exists(place):
        return f"the volume {place} does not exist on this agent"
    return None


def _host_path(volume: mesos_pb2.Volume) -> str:
    if volume.HasField("source"):
        return volume.source.host_path.path if volume.source.HasField("host_path") else ""
    return volume.host_path
