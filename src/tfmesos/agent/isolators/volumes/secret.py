"""volume/secret: a secret as a file in a container (Mesos 1.11: isolators/volume/secret.cpp).

<runtime_dir>/secrets/                          mode 0700
  <outermost container id>/<nested id>/...
    0.secret, 1.secret, ...                     0400, of the container's user; no id has a dot

Mesos keeps them on a file system in memory; here that is for whoever chooses --runtime_dir.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping, Set
from pathlib import Path
from typing import TYPE_CHECKING

from tfmesos.agent.isolators.errors import IsolationFailed
from tfmesos.agent.isolators.isolator import LaunchEdits, Shares, ViewIsolator
from tfmesos.agent.isolators.secrets import secret_fault
from tfmesos.agent.isolators.view import Mount, View
from tfmesos.agent.isolators.volumes.kinds import VolumeKind, volumes_of
from tfmesos.agent.isolators.volumes.target import target_of
from tfmesos.agent.sandboxes.trees import remove_tree
from tfmesos.wire import mesos_pb2

if TYPE_CHECKING:
    from tfmesos.agent.containerizer.config import ContainerConfig
    from tfmesos.agent.containerizer.identifiers import ContainerId

_log = logging.getLogger(__name__)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


class SecretVolumeIsolator(ViewIsolator):
    """Only the container's user and root read such a file; it goes with the container."""

    name = "volume/secret"

    def __init__(self, runtime_dir: Path, sandbox_directory: str) -> None:
        self._directory = runtime_dir / "secrets"
        self._sandbox_directory = sandbox_directory

    async def recover(self, known: Mapping[ContainerId, ContainerConfig], orphans: Set[ContainerId]) -> None:
        """What belongs to no container goes."""
        alive = {container_id.root.value for container_id in (*known, *orphans)}
        names = os.listdir(self._directory) if self._directory.is_dir() else []
        for name in names:
            if name not in alive:
                remove_tree(str(self._directory / name))

    def wants_view(self, config: ContainerConfig) -> bool:
        """If it has such volumes."""
        return any(volumes_of(config.container, VolumeKind.SECRET))

    async def prepare(self, config: ContainerConfig, shares: Shares) -> LaunchEdits:
        """Writes the secrets. Raises IsolationFailed."""
        volumes = list(volumes_of(config.container, VolumeKind.SECRET))
        for volume in volumes:
            fault = secret_fault(volume.source.secret)
            if fault:
                raise IsolationFailed(f"volume at '{volume.container_path}': {fault}")
        mounts = tuple(self._mount(config, number, volume) for number, volume in enumerate(volumes))
        return LaunchEdits(view=View(mounts=mounts)) if mounts else LaunchEdits()

    async def cleanup(self, container_id: ContainerId) -> None:
        """Remove them."""
        directory = self._of(container_id)
        if not _is_there(directory):
            return
        try:
            await asyncio.to_thread(remove_tree, str(directory))
        except OSError as error:  # the next agent removes them
            _log.warning("container %s: its secrets in %s cannot be removed: %s", container_id, directory, error)

    def _mount(self, config: ContainerConfig, number: int, volume: mesos_pb2.Volume) -> Mount:
        target = target_of(config, volume.container_path, self._sandbox_directory, is_directory=False)
        file = self._of(config.id) / f"{number}.secret"
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            file.parent.mkdir(parents=True, exist_ok=True)
            _write(file, volume.source.secret.value.data, os.lstat(config.directory))
        except OSError as error:
            raise IsolationFailed(f"cannot keep a secret in {file.parent}: {error.strerror}") from error
        return Mount(source=str(file), target=target, options=("bind", "ro"))

    def _of(self, container_id: ContainerId) -> Path:
        return self._directory.joinpath(*reversed([item.value for item in container_id.lineage()]))


def _is_there(directory: Path) -> bool:
    return directory.is_dir()


def _write(path: Path, data: bytes, sandbox: os.stat_result) -> None:
    """For whom the sandbox belongs to."""
    with open(os.open(path, _NEW, 0o400), "wb") as file:
        os.fchown(file.fileno(), sandbox.st_uid, sandbox.st_gid)
        file.write(data)
