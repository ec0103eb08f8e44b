"""Which of the containerizers makes a container."""

from __future__ import annotations

from tfmesos.agent.containerizer.config import ContainerConfig, RuntimeName
from tfmesos.agent.containerizer.container import Container
from tfmesos.agent.containerizer.errors import LaunchFailed
from tfmesos.agent.containerizer.parts import Parts
from tfmesos.agent.flags import AgentFlags
from tfmesos.wire import mesos_pb2

_DOCKER = mesos_pb2.ContainerInfo.DOCKER
_NOBODY = (
    "None of the enabled containerizers ({enabled}) could create a container for the provided TaskInfo/ExecutorInfo "
    "message"
)
"""Mesos 1.11: slave.cpp, executorLaunched."""


def runtime_for(config: ContainerConfig, flags: AgentFlags, parts: Parts, parent: Container | None) -> RuntimeName:
    """What makes it. `parent`: the container around it. Raises LaunchFailed if nothing does."""
    if config.is_debug and parent is not None:
        return parent.config.runtime
    if parent is not None and parent.config.runtime is RuntimeName.DOCKER:
        raise LaunchFailed("containers cannot be nested in those of the docker containerizer")
    name = "docker" if config.container is not None and config.container.type == _DOCKER else "mesos"
    if name not in flags.containerizers:
        raise LaunchFailed(_NOBODY.format(enabled=",".join(flags.containerizers)))
    if name == "docker":
        return RuntimeName.DOCKER
    is_special = config.has_image or parts.isolation.needs_runtime(config)
    return RuntimeName.OCI if is_special else RuntimeName.HOST
