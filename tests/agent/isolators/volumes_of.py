"""Containers with volumes."""

from __future__ import annotations

from pathlib import Path

from tests.agent.isolators.views import config, root
from tfmesos.agent.containerizer import ContainerConfig, ContainerId
from tfmesos.agent.isolators import Mount, View
from tfmesos.wire import mesos_pb2

V = mesos_pb2.Volume


def having(
    sandbox: Path, *volumes: mesos_pb2.Volume, tree: Path | None = None, parent: ContainerId | None = None
) -> ContainerConfig:
    """A container with volumes; `tree`: of its image."""
    directory = sandbox if parent is None else sandbox / "containers/c"
    changes = {} if tree is None else {"has_image": True, "root": root(str(tree))}
    made = config(parent=parent, directory=str(directory), **changes)  # type: ignore[arg-type]
    assert made.container is not None
    made.container.volumes.extend(volumes)
    return made


def is_empty(directory: Path) -> bool:
    return not any(directory.iterdir())


def mounts(*found: Mount) -> View:
    return View(mounts=found)
