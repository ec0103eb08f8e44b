"""Containers: supervised programs in sandboxes, nested in each other. Made in three ways."""

from tfmesos.agent.containerizer.config import ContainerConfig, ContainerKind, RuntimeName
from tfmesos.agent.containerizer.container import Container
from tfmesos.agent.containerizer.containerizer import Containerizer
from tfmesos.agent.containerizer.errors import LaunchFailed
from tfmesos.agent.containerizer.identifiers import ContainerId, container_id_fault
from tfmesos.agent.containerizer.parts import Parts
from tfmesos.agent.containerizer.roots import Roots
from tfmesos.agent.containerizer.runtimes import ContainerRuntime, RunningNews

__all__ = [
    "Container",
    "ContainerConfig",
    "ContainerId",
    "ContainerKind",
    "ContainerRuntime",
    "Containerizer",
    "LaunchFailed",
    "Parts",
    "Roots",
    "RunningNews",
    "RuntimeName",
    "container_id_fault",
]
