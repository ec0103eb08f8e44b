"""Agents whose containers have images, out of a directory of archives."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from tests.dockerd import Dockerd
from tests.images import Entry, File, Image, busybox_image, cuda_image, glibc_layer, oci_archive
from tfmesos.wire import agent_pb2, mesos_pb2

T = TypeVar("T", mesos_pb2.TaskInfo, mesos_pb2.ExecutorInfo, agent_pb2.Call.LaunchContainer)
ISOLATION = "docker/runtime,filesystem/linux,cgroups/devices,gpu/nvidia"
CUDA, PLAIN, VOID = "nvidia/cuda", "plain", "void"
"""Images: one asks for the driver's files, one says nothing of GPUs, one wants nothing of the driver."""


def gpu_images(try_nodes: Path) -> Mapping[str, Image]:
    """Each has the program `try_nodes`."""
    tools: Mapping[str, Entry] = {"usr/bin/try_nodes": File(content=try_nodes.read_bytes(), mode=0o755)}
    return {
        CUDA: cuda_image(tools),
        PLAIN: busybox_image(glibc_layer(), tools, environment=["PATH=/opt/bin:/usr/bin:/bin"]),
        VOID: busybox_image(glibc_layer(), tools, environment=["NVIDIA_VISIBLE_DEVICES=void"]),
    }


def write_archives(folder: Path, images: Mapping[str, Image]) -> Path:
    """For --docker_registry."""
    for name, image in images.items():
        archive = folder / f"{name}:latest.tar"
        archive.parent.mkdir(parents=True, exist_ok=True)
        oci_archive(archive, image, f"{name}:latest")
    return folder


def image_flags(archives: Path, store: Path) -> tuple[str, ...]:
    """Of an agent."""
    return ("--image_providers=docker", f"--docker_registry={archives}", f"--docker_store_dir={store}")


def with_image(task: T, image: str) -> T:
    """The task (or what else has a container), in a container of the Mesos containerizer."""
    task.container.type = mesos_pb2.ContainerInfo.MESOS
    task.container.mesos.image.type = mesos_pb2.Image.DOCKER
    task.container.mesos.image.docker.name = image
    return task


def docker_flags(engine: Dockerd) -> tuple[str, ...]:
    """Of an agent with this engine beside its own containerizer."""
    return ("--containerizers=docker,mesos", f"--docker_socket={engine.socket}", "--docker_remove_delay=1ms")


def with_docker(task: mesos_pb2.TaskInfo, image: str, **parameters: str) -> mesos_pb2.TaskInfo:
    """The task, in a container of the Docker engine; `parameters`: options of `docker run`."""
    task.container.type = mesos_pb2.ContainerInfo.DOCKER
    task.container.docker.image = image
    task.container.docker.network = mesos_pb2.ContainerInfo.DockerInfo.HOST
    for name, value in parameters.items():
        task.container.docker.parameters.add(key=name, value=value)
    return task


def with_volume(task: T, directory: Path) -> T:
    """The task (or what else has a container), with a directory of the machine where it is there, too."""
    volume = task.container.volumes.add(mode=mesos_pb2.Volume.RW, container_path=str(directory))
    volume.host_path = str(directory)
    return task
