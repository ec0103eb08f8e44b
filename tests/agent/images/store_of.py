"""Images of an agent, as tests want them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.images import ImageRoot, Images
from tfmesos.agent.images.patience import PATIENCE_S
from tfmesos.supervision import Supervisors
from tfmesos.wire import mesos_pb2


def image_of(name: str, *, cached: bool = True, config: str | None = None) -> mesos_pb2.Image:
    """As a task asks for it; `config`: its own docker config."""
    image = mesos_pb2.Image(type=mesos_pb2.Image.DOCKER, cached=cached)
    image.docker.name = name
    if config is not None:
        image.docker.config.type = mesos_pb2.Secret.VALUE
        image.docker.config.value.data = config.encode()
    return image


@asynccontextmanager
async def images_of(
    folder: Path, *, agent: str = "agent", patience_s: float = PATIENCE_S, **flags: Any
) -> AsyncIterator[Images]:
    """Of an agent that uses the store `folder`/store."""
    environment = flags.pop("environment", {})
    supervisors = Supervisors()
    await supervisors.start()
    given = AgentFlags(
        master="none",
        work_dir=str(folder / agent),
        image_providers=("DOCKER",),
        docker_store_dir=str(folder / "store"),
        **flags,
    )
    images = Images.open(given, supervisors, {"PATH": os.defpath, **environment}, patience_s)
    assert images is not None
    try:
        yield images
    finally:
        await images.close()
        await supervisors.close()


def trees_of(folder: Path) -> list[str]:
    """The digests of a store's trees."""
    return sorted(name.replace("-", ":", 1) for name in os.listdir(folder / "store" / "trees"))


def is_clean(folder: Path) -> bool:
    """Whether nothing of a pull is left in the store."""
    return not os.listdir(folder / "store" / "staging")


def greeting(root: ImageRoot) -> bytes:
    """What the images of tests here have in /etc/greeting."""
    return Path(root.tree, "etc/greeting").read_bytes()


@contextmanager
def mounted(directory: Path, size: str) -> Iterator[None]:
    """A disk of that size."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", directory], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", directory], check=True)
