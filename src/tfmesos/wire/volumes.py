"""What is wrong with a Volume, whoever looks at it (texts of Mesos 1.11: common/validation.cpp)."""

from tfmesos.wire import mesos_pb2

_Source = mesos_pb2.Volume.Source
_PARTS = {
    _Source.DOCKER_VOLUME: "docker_volume",
    _Source.HOST_PATH: "host_path",
    _Source.SANDBOX_PATH: "sandbox_path",
    _Source.SECRET: "secret",
    _Source.CSI_VOLUME: "csi_volume",
}


def volume_fault(volume: mesos_pb2.Volume) -> str | None:
    """Why nobody can tell what it is meant to be; None if it is clear."""
    if sum((volume.HasField("host_path"), volume.HasField("image"), volume.HasField("source"))) != 1:
        return "Only one of them should be set: 'host_path', 'image' and 'source'"
    if any("\0" in path for path in _paths(volume)):
        return "a path contains a zero byte"
    if not volume.HasField("source"):
        return None
    part = _PARTS.get(volume.source.type)
    if part is None:
        return "'source.type' is unknown"
    if not volume.source.HasField(part):  # type: ignore[arg-type]
        return f"'source.{part}' is not set for {_Source.Type.Name(volume.source.type)} volume"
    return None


def _paths(volume: mesos_pb2.Volume) -> tuple[str, ...]:
    source = volume.source
    return volume.container_path, volume.host_path, source.host_path.path, source.sandbox_path.path
