"""Containers: supervised programs in sandboxes, nested in each other. One way to make them so far."""

from tfmesos.agent.containerizer.config import ContainerConfig, ContainerKind
from tfmesos.agent.containerizer.container import Container
from tfmesos.agent.containerizer.containerizer import Containerizer
from tfmesos.agent.containerizer.errors import LaunchFailed
from tfmesos.agent.containerizer.identifiers import ContainerId, container_id_fault

__all__ = [
    "Container",
    "ContainerConfig",
    "ContainerId",
    "ContainerKind",
    "Containerizer",
    "LaunchFailed",
    "container_id_fault",
]
