"""A containerizer with a Docker engine."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.dockerd import Dockerd
from tests.images import busybox_image
from tfmesos.agent import AgentFlags
from tfmesos.agent.containerizer import Container, ContainerConfig, ContainerId, Containerizer, ContainerKind
from tfmesos.agent.containerizer.config import RuntimeName
from tfmesos.agent.containerizer.parts import Parts
from tfmesos.agent.docker import DockerRuntime
from tfmesos.resources import Resources
from tfmesos.supervision import Supervisors
from tfmesos.wire import mesos_pb2

IMAGE = "tfmesos-docker-test:1"
Configure = Callable[..., ContainerConfig]
Start = Callable[[ContainerConfig], Any]


@pytest.fixture(scope="session")
def engine(dockerd: Dockerd) -> Dockerd:
    """With an image that has a shell."""
    image = busybox_image(environment=("FROM_IMAGE=yes", "PATH=/bin"), cmd=("sh", "-c", "echo cmd of the image"))
    dockerd.load(image, IMAGE)
    return dockerd


@pytest.fixture
def flags(tmp_path: Path, engine: Dockerd) -> AgentFlags:
    return AgentFlags(
        master="none",
        work_dir=str(tmp_path / "work"),
        switch_user=False,
        fetcher_cache_dir=str(tmp_path / "cache"),
        containerizers=("docker", "mesos"),
        docker_socket=str(engine.socket),
    )


async def containerizer_of(flags: AgentFlags) -> Containerizer:
    runtime = await DockerRuntime.open(flags)
    running = Containerizer(flags, Supervisors(), Parts(runtimes={RuntimeName.DOCKER: runtime}))
    await running.start()
    return running


@pytest.fixture
async def containerizer(flags: AgentFlags) -> AsyncIterator[Containerizer]:
    running = await containerizer_of(flags)
    yield running
    await running.close(end_detached=True)


@pytest.fixture
def configure(flags: AgentFlags, engine: Dockerd, request: pytest.FixtureRequest) -> Configure:
    """Makes the configuration of a container that runs a line of shell; `docker`: more of its DockerInfo."""
    mark = f"{abs(hash(request.node.nodeid)):x}"

    def make(line: str, name: str = "c", *, docker: dict[str, Any] | None = None, **changes: Any) -> ContainerConfig:
        container = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.DOCKER)
        container.docker.CopyFrom(mesos_pb2.ContainerInfo.DockerInfo(**{"image": IMAGE, **(docker or {})}))
        config = ContainerConfig(
            id=ContainerId(f"{name}-{mark}"),
            kind=ContainerKind.COMMAND_TASK,
            command=mesos_pb2.CommandInfo(value=line),
            directory=f"{flags.work_dir}/slaves/a/frameworks/f/executors/e/runs/{name}-{mark}",
            container=container,
            resources=tuple(Resources.parse("cpus:0.1;mem:32").to_proto()),
        )
        return dataclasses.replace(config, **changes)

    return make


def output(container: Container, name: str = "stdout") -> str:
    """What a container has written."""
    return Path(container.directory, name).read_text(errors="replace")
