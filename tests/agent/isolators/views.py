"""Containers as they come to an isolator that says what they see, and what it says."""

from __future__ import annotations

from typing import Any

import pytest

from tfmesos.agent.containerizer import ContainerConfig, ContainerId, ContainerKind
from tfmesos.agent.images import ImageRoot, ImageRuntime, Root
from tfmesos.agent.isolators import IsolationFailed, Isolator, View
from tfmesos.wire import mesos_pb2


def root(tree: str = "/tree", **runtime: Any) -> Root:
    """Of an image that wants this."""
    image = ImageRoot(image="repo/it", digest="sha256:0", tree=tree, runtime=ImageRuntime(**runtime))
    return Root(image=image, rootfs="/rootfs", lower=tree, upper="/upper", work="/work")


def config(
    *, has_image: bool = False, parent: ContainerId | None = None, linux: dict[str, Any] | None = None, **changes: Any
) -> ContainerConfig:
    """A container named c."""
    container = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.MESOS)
    if linux is not None:
        container.linux_info.MergeFrom(mesos_pb2.LinuxInfo(**linux))
    if has_image:
        container.mesos.image.type = mesos_pb2.Image.DOCKER
        changes = {"root": root(), **changes}
    given: dict[str, Any] = {
        "command": mesos_pb2.CommandInfo(value="true"),
        "directory": "/work/runs/c" if parent is None else "/work/runs/p/containers/c",
        "container": container,
        **changes,
    }
    return ContainerConfig(id=ContainerId("c", parent), kind=ContainerKind.COMMAND_TASK, **given)


async def view_of(isolator: Isolator, given: ContainerConfig) -> View | None:
    """What it says."""
    return (await isolator.prepare(given, {})).view


async def refusal_of(isolator: Isolator, given: ContainerConfig) -> str:
    """Its text."""
    with pytest.raises(IsolationFailed) as refused:
        await isolator.prepare(given, {})
    return str(refused.value)
