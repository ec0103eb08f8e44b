"""volume/host_path: files of the host in a container (Mesos 1.11: isolators/volume/host_path.cpp)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfmesos.agent.isolators.errors import IsolationFailed
from tfmesos.agent.isolators.isolator import LaunchEdits, Shares, ViewIsolator
from tfmesos.agent.isolators.view import Mount, View
from tfmesos.agent.isolators.volumes.kinds import VolumeKind, host_path_of, volumes_of
from tfmesos.agent.isolators.volumes.target import target_of
from tfmesos.agent.sandboxes.inner import Base, make_inner_directory
from tfmesos.wire import mesos_pb2

if TYPE_CHECKING:
    from tfmesos.agent.containerizer.config import ContainerConfig

_Propagation = mesos_pb2.MountPropagation


class HostPathIsolator(ViewIsolator):
    """Binds directories, with all that is mounted in them, and files."""

    name = "volume/host_path"

    def __init__(self, sandbox_directory: str, forced: Sequence[str] = ()) -> None:
        """`forced`: directories below which what is missing is made."""
        self._sandbox_directory = sandbox_directory
        self._forced = tuple(map(os.path.normpath, forced))

    def wants_view(self, config: ContainerConfig) -> bool:
        """If it has such volumes."""
        return any(volumes_of(config.container, VolumeKind.HOST_PATH))

    async def prepare(self, config: ContainerConfig, shares: Shares) -> LaunchEdits:
        """Raises IsolationFailed for what is not there."""
        if not self.wants_view(config):
            return LaunchEdits()
        mounts = await asyncio.to_thread(self._mounts, config)  # network file systems may hang
        return LaunchEdits(view=View(mounts=mounts))

    def _mounts(self, config: ContainerConfig) -> tuple[Mount, ...]:
        volumes = volumes_of(config.container, VolumeKind.HOST_PATH)
        return tuple(self._mount(config, volume) for volume in volumes)

    def _mount(self, config: ContainerConfig, volume: mesos_pb2.Volume) -> Mount:
        source = host_path_of(volume)
        if not os.path.isabs(source):
            raise IsolationFailed(f"Path '{source}' in HOST_PATH volume is not absolute")
        if not os.path.exists(source):
            self._make(source)
        is_directory = os.path.isdir(source)
        target = target_of(config, volume.container_path, self._sandbox_directory, is_directory=is_directory)
        options = ("rbind" if is_directory else "bind", *access_of(volume), *_propagation(volume))
        return Mount(source=source, target=target, options=options)

    def _make(self, path: str) -> None:
        plain = os.path.normpath(path)
        above = next((forced for forced in self._forced if plain.startswith(f"{forced.rstrip('/')}/")), None)
        if above is None:
            raise IsolationFailed(f"Path '{path}' in HOST_PATH volume does not exist")
        try:
            make_inner_directory(Base(path=os.path.realpath(above)), os.path.relpath(plain, above))
        except OSError as error:
            raise IsolationFailed(f"Failed to create path '{path}' in HOST_PATH volume: {error.strerror}") from error


def access_of(volume: mesos_pb2.Volume) -> tuple[str, ...]:
    """The option of a mount that says whether it can be written to."""
    return ("ro",) if volume.mode == mesos_pb2.Volume.RO else ()


def _propagation(volume: mesos_pb2.Volume) -> tuple[str, ...]:
    """Mounts made by the host later appear in any case; those of the container stay its own."""
    mode = volume.source.host_path.mount_propagation.mode
    if mode == _Propagation.BIDIRECTIONAL:
        raise IsolationFailed(
            f"BIDIRECTIONAL mount propagation of HOST_PATH volume '{host_path_of(volume)}' is not supported: what is "
            "mounted in a container stays in it"
        )
    return ("rslave",) if mode == _Propagation.HOST_TO_CONTAINER else ()
