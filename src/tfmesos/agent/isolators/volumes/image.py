"""volume/image: the files of an image somewhere in a container (Mesos 1.11: isolators/volume/image.cpp)."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import TYPE_CHECKING

from tfmesos.agent.isolators.errors import IsolationFailed
from tfmesos.agent.isolators.isolator import LaunchEdits, Shares, ViewIsolator
from tfmesos.agent.isolators.view import Mount, View
from tfmesos.agent.isolators.volumes.host_path import access_of
from tfmesos.agent.isolators.volumes.kinds import VolumeKind, volumes_of
from tfmesos.agent.isolators.volumes.target import target_of
from tfmesos.wire import mesos_pb2

if TYPE_CHECKING:
    from tfmesos.agent.containerizer.config import ContainerConfig
    from tfmesos.agent.containerizer.identifiers import ContainerId
    from tfmesos.agent.images import Images, Provisioner, Root


class ImageVolumeIsolator(ViewIsolator):
    """What a container writes to such a volume is its own, and goes with it."""

    name = "volume/image"

    def __init__(self, sandbox_directory: str, images: Images | None, provisioner: Provisioner | None) -> None:
        """Without `images` no container can have such volumes."""
        self._sandbox_directory = sandbox_directory
        self._images = images
        self._provisioner = provisioner
        self._made: set[ContainerId] = set()

    async def recover(self, known: Mapping[ContainerId, ContainerConfig], orphans: Set[ContainerId]) -> None:
        """Images and their roots are taken up where those of containers are."""
        self._made.update(found for found, config in known.items() if self.wants_view(config))
        self._made.update(orphans)

    def wants_view(self, config: ContainerConfig) -> bool:
        """If it has such volumes."""
        return any(volumes_of(config.container, VolumeKind.IMAGE))

    async def prepare(self, config: ContainerConfig, shares: Shares) -> LaunchEdits:
        """Has the images pulled, and roots of the container's own made of them. Raises IsolationFailed."""
        volumes = list(volumes_of(config.container, VolumeKind.IMAGE))
        if not volumes:
            return LaunchEdits()
        roots = [await self._make(config.id, number, volume) for number, volume in enumerate(volumes)]
        pairs = zip(volumes, roots, strict=True)
        return LaunchEdits(view=View(mounts=tuple(self._mount(config, volume, root) for volume, root in pairs)))

    async def cleanup(self, container_id: ContainerId) -> None:
        """The roots go, and the images are not its any more."""
        if container_id not in self._made or self._images is None or self._provisioner is None:
            return
        await self._provisioner.remove(container_id)
        await self._images.release(str(container_id))
        self._made.discard(container_id)

    async def _make(self, container_id: ContainerId, number: int, volume: mesos_pb2.Volume) -> Root:
        from tfmesos.agent.images import ImageError  # only who has images pays for it

        if self._images is None or self._provisioner is None:
            raise IsolationFailed("this agent has no images: start it with --image_providers=docker")
        self._made.add(container_id)
        try:
            image = await self._images.provide(volume.image, holder=str(container_id))
            return await self._provisioner.make(container_id, image, volume=number)
        except ImageError as error:
            raise IsolationFailed(str(error)) from error

    def _mount(self, config: ContainerConfig, volume: mesos_pb2.Volume, root: Root) -> Mount:
        target = target_of(config, volume.container_path, self._sandbox_directory, is_directory=True)
        if access_of(volume):
            return Mount(source=root.image.tree, target=target, options=("bind", "ro"))
        if root.lower is None or root.upper is None or root.work is None:
            return Mount(source=root.rootfs, target=target, options=("bind",))
        options = (f"lowerdir={_escaped(root.lower)}", f"upperdir={root.upper}", f"workdir={root.work}")
        return Mount(source="overlay", target=target, type="overlay", options=options)


def _escaped(path: str) -> str:
    """Colons separate lower directories (kernel: overlayfs.rst)."""
    return path.replace("\\", "\\\\").replace(":", "\\:")
