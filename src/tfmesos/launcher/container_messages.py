"""What Mesos is told of the container of a task."""

from collections.abc import Iterable

from tfmesos.launcher.containers import ContainerOptions
from tfmesos.launcher.nvidia_plugin import Parameters
from tfmesos.launcher.volumes import Volume
from tfmesos.wire import mesos_pb2

IDENTITY = ("/etc/passwd", "/etc/group")
"""The agent's users, which an image does not know: without them a task has a number and no name (TFMesos 0.0.10)."""

Docker = mesos_pb2.ContainerInfo.DockerInfo


def add_container(
    info: mesos_pb2.TaskInfo, chosen: ContainerOptions, *, user: str, parameters: Parameters = ()
) -> None:
    """Put the task, which has its command and resources, into a container; not where it needs none.

    `user` is who the job runs as, `parameters` are further ones for docker's command line.
    """
    volumes = [_volume(volume) for volume in [*_identity(chosen, user), *chosen.mounted]]
    if chosen.is_docker:
        info.container.CopyFrom(_docker(info, chosen, volumes, parameters))
        info.command.ClearField("value")
        del info.command.arguments[0]
    elif chosen.image is not None or volumes or chosen.shm_mb is not None:
        info.container.CopyFrom(_mesos(chosen, volumes))


def _mesos(chosen: ContainerOptions, volumes: Iterable[mesos_pb2.Volume]) -> mesos_pb2.ContainerInfo:
    container = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.MESOS, volumes=volumes)
    if chosen.image is not None:
        container.mesos.image.type = mesos_pb2.Image.DOCKER
        container.mesos.image.docker.name = chosen.image
        container.mesos.image.cached = not chosen.force_pull
    if chosen.shm_mb is not None:
        container.linux_info.ipc_mode = mesos_pb2.LinuxInfo.PRIVATE
        container.linux_info.shm_size = chosen.shm_mb
    return container


def _docker(
    info: mesos_pb2.TaskInfo, chosen: ContainerOptions, volumes: Iterable[mesos_pb2.Volume], parameters: Parameters
) -> mesos_pb2.ContainerInfo:
    """The image's entry point is replaced: with it, Mesos would hand the command to that as its arguments."""
    docker = Docker(image=chosen.image or "", network=Docker.HOST, force_pull_image=chosen.force_pull)
    shm_mb = chosen.shm_mb or _memory_mb(info)
    given = [("entrypoint", info.command.value), *([("shm-size", f"{shm_mb}m")] if shm_mb else []), *parameters]
    docker.parameters.extend(mesos_pb2.Parameter(key=name, value=value) for name, value in given)
    return mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.DOCKER, volumes=volumes, docker=docker)


def _memory_mb(info: mesos_pb2.TaskInfo) -> int:
    """What the task's memory allows /dev/shm to hold: docker's own 64 MB are too little for data loaders."""
    return int(sum(resource.scalar.value for resource in info.resources if resource.name == "mem"))


def _identity(chosen: ContainerOptions, user: str) -> list[Volume]:
    """Root is root in every image, and an image may need its own users then."""
    if chosen.image is None or user == "root":
        return []
    given = {volume.target for volume in chosen.volumes}
    return [Volume(source=path, target=path, read_only=True) for path in IDENTITY if path not in given]


def _volume(volume: Volume) -> mesos_pb2.Volume:
    mode = mesos_pb2.Volume.RO if volume.read_only else mesos_pb2.Volume.RW
    return mesos_pb2.Volume(mode=mode, container_path=volume.target, host_path=volume.source)
