"""Which kind a volume is (pure)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import Enum

from tfmesos.wire import mesos_pb2

_Source = mesos_pb2.Volume.Source


class VolumeKind(Enum):
    """As the isolator that serves it is called."""

    HOST_PATH = "volume/host_path"
    SANDBOX_PATH = "volume/sandbox_path"
    IMAGE = "volume/image"
    SECRET = "volume/secret"
    DOCKER_VOLUME = "docker/volume"
    CSI_VOLUME = "volume/csi"


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
