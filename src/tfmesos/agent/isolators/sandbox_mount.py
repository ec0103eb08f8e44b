"""A container's sandbox, as it sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfmesos.agent.isolators.view import Mount

if TYPE_CHECKING:
    from tfmesos.agent.containerizer.config import ContainerConfig


def outermost_sandbox(config: ContainerConfig) -> str:
    """The sandbox that holds those of all containers that this one is nested in; its own if it is not nested."""
    return config.directory.removesuffix("".join(f"/containers/{item}" for item in _nested(config)))


def sandbox_mount(config: ContainerConfig, place: str) -> Mount:
    """The sandbox at a place in the container.

    Programs of the containers around a nested one may put a link where its sandbox is.
    """
    beneath = outermost_sandbox(config) if config.id.parent is not None else None
    return Mount(source=config.directory, target=place, beneath=beneath)


def _nested(config: ContainerConfig) -> list[str]:
    names = [item.value for item in config.id.lineage()][:-1]
    return list(reversed(names))
