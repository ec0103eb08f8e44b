"""volume/sandbox_path: directories of a sandbox elsewhere in a container (Mesos 1.11: volume/sandbox_path.cpp).

SELF is the container's own sandbox, PARENT that of the container around it, by which nested containers share files.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tfmesos.agent.isolators.errors import IsolationFailed
from tfmesos.agent.isolators.isolator import LaunchEdits, Shares, ViewIsolator
from tfmesos.agent.isolators.sandbox_mount import sandbox_around, sandbox_of
from tfmesos.agent.isolators.view import Mount, View
from tfmesos.agent.isolators.volumes.host_path import access_of
from tfmesos.agent.isolators.volumes.kinds import VolumeKind, volumes_of
from tfmesos.agent.isolators.volumes.target import target_of
from tfmesos.agent.sandboxes.inner import Base, make_inner_directory, make_inner_link
from tfmesos.wire import mesos_pb2

if TYPE_CHECKING:
    from tfmesos.agent.containerizer.config import ContainerConfig

_Kind = mesos_pb2.Volume.Source.SandboxPath


class SandboxPathIsolator(ViewIsolator):
    """Makes the directory for the sandbox's owner if it is missing, and binds it.

    Without filesystem/linux a link in the sandbox has to do, which only PARENT and relative paths allow.
    """

    name = "volume/sandbox_path"

    def __init__(self, sandbox_directory: str, *, can_mount: bool) -> None:
        """`can_mount`: whether there is filesystem/linux."""
        self._sandbox_directory = sandbox_directory
        self._can_mount = can_mount

    def wants_view(self, config: ContainerConfig) -> bool:
        """If it has such volumes, and they are mounted."""
        return self._can_mount and any(volumes_of(config.container, VolumeKind.SANDBOX_PATH))

    async def prepare(self, config: ContainerConfig, shares: Shares) -> LaunchEdits:
        """Raises IsolationFailed."""
        volumes = volumes_of(config.container, VolumeKind.SANDBOX_PATH)
        mounts = tuple(mount for volume in volumes if (mount := self._mount(config, volume)) is not None)
        return LaunchEdits(view=View(mounts=mounts)) if mounts else LaunchEdits()

    def _mount(self, config: ContainerConfig, volume: mesos_pb2.Volume) -> Mount | None:
        sandbox, path = _source(config, volume)
        self._check_place(volume, is_own=sandbox == sandbox_of(config))
        try:
            make_inner_directory(sandbox, path, inherits=True)
        except OSError as error:
            raise IsolationFailed(
                f"Failed to create the directory '{path}' of a SANDBOX_PATH volume: {error.strerror}"
            ) from error
        source = os.path.normpath("/".join((sandbox.path, *sandbox.steps, path)))
        if not self._can_mount:
            _link(config, volume.container_path, source)
            return None
        target = target_of(config, volume.container_path, self._sandbox_directory, is_directory=True)
        options = ("rbind", *access_of(volume))
        return Mount(source=source, target=target, options=options, beneath=sandbox.path)

    def _check_place(self, volume: mesos_pb2.Volume, *, is_own: bool) -> None:
        if not os.path.isabs(volume.container_path):
            if is_own:
                raise IsolationFailed("'container_path' is relative for SANDBOX_PATH volume SELF type")
            if not self._can_mount and volume.mode == mesos_pb2.Volume.RO:
                raise IsolationFailed("A read-only SANDBOX_PATH volume needs 'filesystem/linux' in --isolation")
        elif not self._can_mount:
            raise IsolationFailed(
                "The 'linux' launcher and 'filesystem/linux' isolator must be enabled to support SANDBOX_PATH volume "
                "with absolute container path"
            )


def _source(config: ContainerConfig, volume: mesos_pb2.Volume) -> tuple[Base, str]:
    """Which sandbox, and what in it."""
    if volume.HasField("host_path"):
        return sandbox_of(config), volume.host_path
    asked = volume.source.sandbox_path
    if os.path.isabs(asked.path):
        raise IsolationFailed(f"Path '{asked.path}' in SANDBOX_PATH volume is absolute")
    if asked.type == _Kind.SELF:
        return sandbox_of(config), asked.path
    if asked.type != _Kind.PARENT:
        raise IsolationFailed("'source.sandbox_path.type' is unknown")
    if config.id.parent is None:
        raise IsolationFailed("SANDBOX_PATH volume PARENT type only works for nested container")
    return sandbox_around(config), asked.path


def _link(config: ContainerConfig, container_path: str, source: str) -> None:
    try:
        make_inner_link(sandbox_of(config), container_path, source)
    except OSError as error:
        raise IsolationFailed(
            f"Failed to create the link '{container_path}' of a SANDBOX_PATH volume: {error.strerror}"
        ) from error
