"""Root file systems of containers, made from images."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.images.errors import RootFailed
from tfmesos.agent.images.image_root import ImageRoot, Root
from tfmesos.supervision import Supervisors

if TYPE_CHECKING:  # containers know their images
    from tfmesos.agent.containerizer import ContainerId


class Provisioner:
    """The root file systems of one agent's containers."""

    @classmethod
    def open(cls, flags: AgentFlags, supervisors: Supervisors) -> Provisioner:
        """Raises BadAgentFlags if --image_provisioner_backend does not work here."""
        return cls()

    async def make(self, container_id: ContainerId, image: ImageRoot) -> Root:
        """The directories of a container's root; `remove` undoes it, also if this fails or is cancelled.

        Raises RootFailed.
        """
        raise RootFailed(f"Failed to provision a root of '{image.image}' for container {container_id}")

    async def remove(self, container_id: ContainerId) -> None:
        """Remove a container's root, and those of all nested in it. Idempotent; what stays is logged, never raised."""

    async def recover(self, known: Collection[ContainerId]) -> None:
        """Remove what belongs to none of these."""
