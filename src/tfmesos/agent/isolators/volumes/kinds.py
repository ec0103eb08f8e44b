"""Which kind a volume is, and what is wrong with one (pure; texts of Mesos 1.11: common/validation.cpp)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import Enum

from tfmesos.wire import mesos_pb2

_Source = mesos_pb2.Volume.Source
_PARTS = {
    _Source.DOCKER_VOLUME: "docker_volume",
    _Source.HOST_PATH: "host_path",
    _Source.SANDBOX_PATH: "sandbox_path",
    _Source.SECRET: "secret",
    _Source.CSI_VOLUME: "csi_volume",
}


class VolumeKind(Enum):
    """As the isolator that serves it is called."""

    HOST_PATH = "volume/host_path"
    SANDBOX_PATH = "volume/sandbox_path"
    IMAGE = "volume/image"
    SECRET = "volume/secret"
    DOCKER_VOLUME = "docker/volume"
    CSI_VOLUME = "volume/csi"


def volume_fault(volume: mesos_pb2.Volume) -> str | None:
    """Why nobody can tell what it is meant to be; None if it is clear."""
    if [volume.HasField("host_path"), volume.HasField("image"), volume.HasField("source")].count(True) != 1:
        return "Only one of them should be set: 'host_path', 'image' and 'source'"
    if not volume.HasField("source"):
        return None
    part = _PARTS.get(volume.source.type)
    if part is None:
        return "'source.type' is unknown"
    if part not in {field.name for field, _ in volume.source.ListFields()}:
        return f"'source.{part}' is not set for {_Source.Type.Name(volume.source.type)} volume"
    return None


def kind_of(volume: mesos_pb2.Volume) -> VolumeKind:
    """Of one without fault."""
    if volume.HasField("image"):
        return VolumeKind.IMAGE
    if volume.HasField("host_path"):  # the old way to say both
        return VolumeKind.HOST_PATH if os.path.isabs(volume.host_path) else VolumeKind.SANDBOX_PATH
    return VolumeKind[_Source.Type.Name(volume.source.type)]


def volumes_of(container: mesos_pb2.ContainerInfo | None, kind: VolumeKind) -> Iterator[mesos_pb2.Volume]:
    """Those of a kind, in their order."""
    volumes = container.volumes if container is not None else ()
    return (volume for volume in volumes if kind_of(volume) is kind)


def host_path_of(volume: mesos_pb2.Volume) -> str:
    """Of a HOST_PATH volume: what of the host."""
    return volume.host_path if volume.HasField("host_path") else volume.source.host_path.path
