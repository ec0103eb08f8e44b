"""Which of the containerizers makes a container."""

from __future__ import annotations

import dataclasses
from typing import cast

import pytest

from tests.agent.containerizer.conftest import Configure
from tfmesos.agent import AgentFlags
from tfmesos.agent.containerizer import Container, ContainerConfig, ContainerId, LaunchFailed, Parts, RuntimeName
from tfmesos.agent.containerizer.choice import runtime_for
from tfmesos.agent.isolators import Isolation
from tfmesos.wire import mesos_pb2


class Particular(Isolation):
    """Wants a view for whatever has volumes."""

    def needs_runtime(self, config: ContainerConfig) -> bool:
        return config.container is not None and bool(config.container.volumes)


@dataclasses.dataclass
class Around:
    """A container, as far as it matters here."""

    config: ContainerConfig


PARTS = Parts(isolation=Particular())
PLAIN = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.MESOS)
DOCKER = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.DOCKER)
IMAGE = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.MESOS)
IMAGE.mesos.image.type = mesos_pb2.Image.DOCKER
VOLUMES = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.MESOS)
VOLUMES.volumes.add(container_path="/mnt")


@pytest.fixture
def flags(flags: AgentFlags) -> AgentFlags:
    return dataclasses.replace(flags, containerizers=("docker", "mesos"))


@pytest.mark.parametrize(
    ("container", "runtime"),
    [
        (None, RuntimeName.HOST),
        (PLAIN, RuntimeName.HOST),
        (IMAGE, RuntimeName.OCI),
        (VOLUMES, RuntimeName.OCI),
        (DOCKER, RuntimeName.DOCKER),
    ],
)
def test_what_is_plain_stays_so(
    flags: AgentFlags, configure: Configure, container: mesos_pb2.ContainerInfo | None, runtime: RuntimeName
) -> None:
    assert runtime_for(configure("true", container=container), flags, PARTS, None) is runtime


@pytest.mark.parametrize(("container", "enabled"), [(None, "docker"), (IMAGE, "docker"), (DOCKER, "mesos")])
def test_what_nobody_makes_is_refused(
    flags: AgentFlags, configure: Configure, container: mesos_pb2.ContainerInfo | None, enabled: str
) -> None:
    flags = dataclasses.replace(flags, containerizers=(enabled,))
    with pytest.raises(LaunchFailed, match=rf"None of the enabled containerizers \({enabled}\) could create"):
        runtime_for(configure("true", container=container), flags, PARTS, None)


@pytest.mark.parametrize("runtime", list(RuntimeName))
def test_who_looks_into_a_container_does_so_by_what_has_made_it(
    flags: AgentFlags, configure: Configure, runtime: RuntimeName
) -> None:
    around = cast(Container, Around(configure("sleep", "around", runtime=runtime)))
    looking = configure("true", parent=ContainerId("around"), is_debug=True)
    assert runtime_for(looking, flags, PARTS, around) is runtime


def test_nothing_is_nested_in_a_container_of_the_engine(flags: AgentFlags, configure: Configure) -> None:
    around = cast(Container, Around(configure("sleep", "around", runtime=RuntimeName.DOCKER)))
    with pytest.raises(LaunchFailed, match="cannot be nested in those of the docker containerizer"):
        runtime_for(configure("true", parent=ContainerId("around")), flags, PARTS, around)
