"""Where a container's sandbox is, and as what the container sees it.

The sandboxes of nested containers lie in those of the containers around them, whose programs may put a link anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfmesos.agent.isolators.view import Mount
from tfmesos.agent.sandboxes.inner import Base

if TYPE_CHECKING:
    from tfmesos.agent.containerizer.config import ContainerConfig
    from tfmesos.agent.containerizer.identifiers import ContainerId


def sandbox_of(config: ContainerConfig) -> Base:
    """The container's own."""
    steps = _steps(config.id)
    return Base(path=config.directory.removesuffix("".join(f"/{step}" for step in steps)), steps=steps)


def sandbox_around(config: ContainerConfig) -> Base:
    """That of the container which it is nested in."""
    own = sandbox_of(config)
    return Base(path=own.path, steps=own.steps[:-2])


def sandbox_mount(config: ContainerConfig, place: str) -> Mount:
    """The sandbox at a place in the container."""
    beneath = sandbox_of(config).path if config.id.parent is not None else None
    return Mount(source=config.directory, target=place, beneath=beneath)


def _steps(container_id: ContainerId) -> tuple[str, ...]:
    """From the outermost sandbox down."""
    if container_id.parent is None:
        return ()
    return (*_steps(container_id.parent), "containers", container_id.value)
