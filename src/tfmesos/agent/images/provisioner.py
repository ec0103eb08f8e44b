"""Root file systems of containers, made from images.

<work_dir>/provisioner/                 0700
  containers/<container id>/
    rootfs                              where the root is to be; with a copy it is here
    upper, work                         of an overlay
    volumes/<number>/                   the same three, of a volume that is an image
    containers/<nested container id>/   the same again

Nothing is mounted here: an overlay is mounted in the container's own mount namespace, by who starts it. So what is here
can be removed at any time, and no mount is left when an agent is killed.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.images.backends import OVERLAY, choose_backend, make_overlay_directories
from tfmesos.agent.images.errors import RootFailed
from tfmesos.agent.images.image_root import ImageRoot, Root
from tfmesos.agent.images.programs import ProgramFailed, Programs
from tfmesos.agent.sandboxes.trees import remove_tree
from tfmesos.agent.uninterrupted import finish
from tfmesos.supervision import Supervisors

if TYPE_CHECKING:  # containers know their images
    from tfmesos.agent.containerizer import ContainerId

_log = logging.getLogger(__name__)


class Provisioner:
    """The root file systems of one agent's containers; all of them are made in the same way."""

    def __init__(self, path: Path, backend: str, programs: Programs) -> None:
        """`path`: absolute; `backend`: of backends.py."""
        self._path = path
        self.backend = backend
        self._programs = programs
        self._parents = threading.Lock()
        """Held while directories around others come or go."""
        self._remove_errors = 0

    @classmethod
    def open(cls, flags: AgentFlags, supervisors: Supervisors) -> Provisioner:
        """Raises BadAgentFlags if --image_provisioner_backend does not work here. The store of images is open."""
        path = Path(flags.work_dir).absolute() / "provisioner"
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise BadAgentFlags(f"--work_dir: cannot use {path}: {error.strerror}") from error
        backend = choose_backend(flags.image_provisioner_backend, path, Path(flags.docker_store_dir).absolute())
        _log.info("root file systems of images are made by %s", backend)
        return cls(path, backend, Programs(supervisors, {}))

    def numbers(self) -> Mapping[str, float]:
        """How many roots could not be removed, by Mesos' name."""
        return {"containerizer/mesos/provisioner/remove_container_errors": self._remove_errors}

    async def make(self, container_id: ContainerId, image: ImageRoot, *, volume: int | None = None) -> Root:
        """The directories of a container's root; `remove` undoes it, also if this fails or is cancelled.

        With `volume`, those of its volume of that number instead. Raises RootFailed.
        """
        directory = self._directory(container_id) + ("" if volume is None else f"/volumes/{volume}")
        try:
            if self.backend == OVERLAY:
                await finish(asyncio.to_thread(self._make_overlay, image.tree, directory))
                return Root(
                    image=image,
                    rootfs=f"{directory}/rootfs",
                    lower=image.tree,
                    upper=f"{directory}/upper",
                    work=f"{directory}/work",
                )
            await finish(asyncio.to_thread(self._make, directory))
            await self._programs.run("cp", "-a", "--reflink=auto", "-T", image.tree, f"{directory}/rootfs")
            return Root(image=image, rootfs=f"{directory}/rootfs")
        except (OSError, ProgramFailed) as error:
            raise RootFailed(f"Failed to provision a root of image '{image.image}' in {directory}: {error}") from error

    async def remove(self, container_id: ContainerId) -> None:
        """Remove a container's root, and those of all nested in it. Idempotent; what stays is logged, never raised."""
        await asyncio.to_thread(self._remove, self._directory(container_id))

    async def recover(self, known: Collection[ContainerId]) -> None:
        """Remove what belongs to none of these."""
        kept = {self._directory(item) for container_id in known for item in container_id.lineage()}
        await asyncio.to_thread(self._remove_others, kept)

    def _directory(self, container_id: ContainerId) -> str:
        names = reversed([item.value for item in container_id.lineage()])
        return str(self._path) + "".join(f"/containers/{name}" for name in names)

    def _make(self, directory: str) -> None:
        with self._parents:
            os.makedirs(directory)

    def _make_overlay(self, tree: str, directory: str) -> None:
        self._make(directory)
        make_overlay_directories(tree, directory)

    def _remove(self, directory: str) -> None:
        """And those around it that are empty then: a container may have no root, but others nested in it."""
        try:
            remove_tree(directory)
        except OSError as error:
            self._remove_errors += 1
            _log.warning("the root file system in %s cannot be removed: %s", directory, error)
            return
        with self._parents:
            while (directory := os.path.dirname(directory)) != str(self._path):
                try:
                    os.rmdir(directory)
                except FileNotFoundError:
                    continue
                except OSError:  # it is not empty
                    return

    def _remove_others(self, kept: Collection[str]) -> None:
        for path in list(_containers(str(self._path))):
            if path not in kept:
                self._remove(path)


def _containers(path: str) -> Iterator[str]:
    """Of a container, or of all: what is nested in it, the outer ones first."""
    try:
        names = sorted(os.listdir(f"{path}/containers"))
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        yield f"{path}/containers/{name}"
        yield from _containers(f"{path}/containers/{name}")
