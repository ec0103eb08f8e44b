"""The ContainerInfo of a single task (Mesos 1.11: src/cli/execute.cpp's getContainerInfo, for what can be asked)."""

import json
from typing import TypeVar

from google.protobuf.message import Message

from tfmesos.cli.execute.errors import ExecuteError
from tfmesos.cli.execute.flags import ExecuteFlags
from tfmesos.cli.execute.parsing import message_of, unknown_fields
from tfmesos.wire import mesos_pb2

__all__ = ["build_container"]

M = TypeVar("M", bound=Message)


def build_container(flags: ExecuteFlags) -> mesos_pb2.ContainerInfo | None:
    """The container asked for, None when nothing asks for one. Raises `ExecuteError`."""
    volumes = _volumes(flags.volumes)
    networks = [name for name in (flags.networks or "").split(",") if name]
    if flags.containerizer == "mesos":
        return _mesos_container(flags, volumes, networks)
    if flags.containerizer == "docker":
        return _docker_container(flags, volumes, networks)
    if flags.containerizer:
        raise ExecuteError(f"Unsupported containerizer: {flags.containerizer}")
    return None


def _mesos_container(
    flags: ExecuteFlags, volumes: list[mesos_pb2.Volume], networks: list[str]
) -> mesos_pb2.ContainerInfo | None:
    container = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.MESOS, volumes=volumes)
    asked = bool(volumes or networks)
    if flags.tty:
        container.tty_info.SetInParent()
    image = _image(flags)
    if image is not None:
        container.mesos.image.CopyFrom(image)
    for name in networks:
        container.network_infos.add(name=name)
    limits = (flags.effective_capabilities, flags.bounding_capabilities, flags.rlimits)
    _add_limits(container, flags)
    asked = asked or flags.tty or image is not None or any(value is not None for value in limits)
    return container if asked else None


def _limits_of(kind: type[M], text: str, flag: str) -> M:
    """A misspelt one must not run a task without it."""
    message = message_of(kind, text, flag)
    unknown = unknown_fields(kind, text)
    if unknown:
        raise ExecuteError(f"Failed to load flag '{flag}': '{unknown[0]}' is nothing that Mesos knows")
    return message


def _add_limits(container: mesos_pb2.ContainerInfo, flags: ExecuteFlags) -> None:
    if flags.effective_capabilities is not None:
        effective = _limits_of(mesos_pb2.CapabilityInfo, flags.effective_capabilities, "effective_capabilities")
        container.linux_info.effective_capabilities.CopyFrom(effective)
    if flags.bounding_capabilities is not None:
        bounding = _limits_of(mesos_pb2.CapabilityInfo, flags.bounding_capabilities, "bounding_capabilities")
        container.linux_info.bounding_capabilities.CopyFrom(bounding)
    if flags.rlimits is not None:
        container.rlimit_info.CopyFrom(_limits_of(mesos_pb2.RLimitInfo, flags.rlimits, "rlimits"))


def _image(flags: ExecuteFlags) -> mesos_pb2.Image | None:
    if flags.docker_image is not None:
        return mesos_pb2.Image(type=mesos_pb2.Image.DOCKER, docker=mesos_pb2.Image.Docker(name=flags.docker_image))
    if flags.appc_image is None:
        return None
    labels = mesos_pb2.Labels(
        labels=[mesos_pb2.Label(key="os", value="linux"), mesos_pb2.Label(key="arch", value="amd64")]
    )
    return mesos_pb2.Image(type=mesos_pb2.Image.APPC, appc=mesos_pb2.Image.Appc(name=flags.appc_image, labels=labels))


def _docker_container(
    flags: ExecuteFlags, volumes: list[mesos_pb2.Volume], networks: list[str]
) -> mesos_pb2.ContainerInfo:
    if flags.docker_image is None:
        raise ExecuteError("'Docker' containerizer requires docker image name to be specified")
    if len(networks) > 1:
        raise ExecuteError("'Docker' containerizer can only support a single network")
    if flags.tty:
        raise ExecuteError("'Docker' containerizer does not allow attaching a TTY")
    container = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.DOCKER, volumes=volumes)
    container.docker.image = flags.docker_image
    for name in networks:
        container.docker.network = mesos_pb2.ContainerInfo.DockerInfo.USER
        container.network_infos.add(name=name)
    return container


def _volumes(text: str | None) -> list[mesos_pb2.Volume]:
    if text is None:
        return []
    try:
        items = json.loads(text)
    except ValueError as error:
        raise ExecuteError(f"Failed to load flag 'volumes': not JSON: {error}") from error
    if not isinstance(items, list):
        raise ExecuteError("Failed to convert '--volumes' to protobuf: a JSON array of Volumes is needed")
    return [message_of(mesos_pb2.Volume, json.dumps(item), "volumes") for item in items]
