"""Containers of all kinds of views, made by a containerizer as agents have it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.images import Directory, File, Image, Symlink, busybox_image
from tfmesos.agent.containerizer import (
    Container,
    ContainerConfig,
    ContainerId,
    Containerizer,
    ContainerKind,
    LaunchFailed,
)
from tfmesos.wire import mesos_pb2

V = mesos_pb2.Volume
OUTSIDE = Path("/tmp/tfmesos-outside")  # links in the images lead to it by this name


def images() -> dict[str, Image]:
    """By name.

    `links` and `taken`, whose authors want to get out; `told`, which says what to run; `bare`, which does not; `files`,
    for volumes.
    """
    out = str(OUTSIDE)
    links = {"out": Symlink(target=out), "up": Symlink(target=f"../../../..{out}"), "top": Symlink(target="/")}
    links |= {"etc/hosts": Symlink(target=f"{out}/hosts"), "mnt/mesos": Symlink(target=out)}
    variables = ("A=1", "odd", "B=x=y")
    return {
        "box": busybox_image({"data/old": File(content=b"of the image\n"), "tmp": Directory(mode=0o1777)}),
        "links": busybox_image(links),
        "taken": busybox_image({"mnt/mesos/sandbox": Symlink(target="/")}),
        "told": busybox_image(entrypoint=("/bin/echo", "entry"), cmd=("c", "$HOME"), environment=variables),
        "bare": busybox_image(cmd=()),
        "files": busybox_image({"f": File(content=b"in a volume\n")}),
    }


def container(image: str | None = None, *volumes: V, **parts: Any) -> mesos_pb2.ContainerInfo:
    """What to be; on the host's file system without an image."""
    made = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.MESOS, volumes=volumes, **parts)
    if image is not None:
        made.mesos.image.type = mesos_pb2.Image.DOCKER
        made.mesos.image.docker.name = image
    return made


class Containers:
    """Of one agent."""

    def __init__(self, containerizer: Containerizer, sandboxes: Path) -> None:
        self.containerizer = containerizer
        self.sandboxes = sandboxes
        self._count = 0

    def configure(
        self, line: str | None, info: mesos_pb2.ContainerInfo, parent: ContainerId | None = None
    ) -> ContainerConfig:
        """Of a line of shell; without one its image says what to run."""
        self._count += 1
        name = f"c{self._count}"
        return ContainerConfig(
            id=ContainerId(name, parent),
            kind=ContainerKind.NESTED if parent else ContainerKind.STANDALONE,
            command=mesos_pb2.CommandInfo(shell=False) if line is None else mesos_pb2.CommandInfo(value=line),
            directory=str(self.sandboxes / name),
            container=info,
        )

    async def start(self, config: ContainerConfig) -> Container:
        made = await self.containerizer.launch(config)
        await made.open_gate()
        return made

    async def output_of(self, config: ContainerConfig) -> str:
        """All that a container says until it ends well."""
        made = await self.start(config)
        async with asyncio.timeout(20):
            end = await made.wait()
        said = read(made.directory, "stdout") + read(made.directory, "stderr")
        assert end.wait_status == 0, (end, said)
        return said

    async def refusal_of(self, config: ContainerConfig) -> str:
        with pytest.raises(LaunchFailed) as refused:
            await self.containerizer.launch(config)
        return str(refused.value)


def read(*path: Path | str) -> str:
    """A file's text."""
    return Path(*path).read_text()


def names_in(directory: Path) -> list[str]:
    """What is there, sorted; nothing if the directory is not."""
    return sorted(path.name for path in directory.glob("*"))


def touch(*path: Path | str) -> None:
    """Make a file."""
    Path(*path).touch()
