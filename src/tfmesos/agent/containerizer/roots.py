"""The root file systems of containers that have an image."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from tfmesos.agent.containerizer.config import ContainerConfig
from tfmesos.agent.containerizer.errors import LaunchFailed
from tfmesos.agent.containerizer.identifiers import ContainerId

if TYPE_CHECKING:  # images know containers by their ids
    from tfmesos.agent.images import Images, Provisioner, Root


class Roots:
    """Each from an image that its container holds; without images there are none."""

    def __init__(self, images: Images | None = None, provisioner: Provisioner | None = None) -> None:
        """`close` closes the images."""
        self.images = images
        self.provisioner = provisioner
        """For volumes that are images, too."""
        self._made: set[ContainerId] = set()

    async def make(self, config: ContainerConfig) -> Root | None:
        """Have the container's image here, and a root of its own made from that; None if it has no image.

        May take minutes. Raises LaunchFailed; `remove` follows then, too, as if it was cancelled.
        """
        if not config.has_image or config.container is None:
            return None
        if self.images is None or self.provisioner is None:
            raise LaunchFailed("this agent has no images: start it with --image_providers=docker")
        from tfmesos.agent.images import ImageError  # only who has images pays for it

        self._made.add(config.id)
        try:
            image = await self.images.provide(config.container.mesos.image, holder=str(config.id))
            return await self.provisioner.make(config.id, image)
        except ImageError as error:
            raise LaunchFailed(str(error)) from error

    async def remove(self, container_id: ContainerId) -> None:
        """Of a container of which nothing else is left. Idempotent, never raises."""
        if container_id not in self._made:
            return
        if self.provisioner is not None:
            await self.provisioner.remove(container_id)
        if self.images is not None:
            await self.images.release(str(container_id))
        self._made.discard(container_id)

    async def recover(self, known: Collection[ContainerId]) -> None:
        """Those of the agent before: of others than these all is removed."""
        if self.images is None or self.provisioner is None:
            return
        self._made.update(known)
        await self.provisioner.recover(known)
        await self.images.recover({str(container_id) for container_id in known})
        self.images.begin()

    async def close(self) -> None:
        """No image is pulled any more."""
        if self.images is not None:
            await self.images.close()
