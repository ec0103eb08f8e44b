"""Containers: what a task is wrapped in. One Protocol, one file per way to make them."""

from tfmesos.agent.containerizer.commands import CommandContainerizer
from tfmesos.agent.containerizer.protocol import Container, Containerizer, ContainerPlace, LaunchFailed

__all__ = ["CommandContainerizer", "Container", "ContainerPlace", "Containerizer", "LaunchFailed"]
