"""linux/devices: containers with an image have the nodes of --allowed_devices (Mesos 1.11: linux/devices.cpp)."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.isolators.allowed_devices import AllowedDevice
from tfmesos.agent.isolators.isolator import LaunchEdits, Shares, ViewIsolator
from tfmesos.agent.isolators.view import Node, View

if TYPE_CHECKING:
    from tfmesos.agent.containerizer.config import ContainerConfig

_MODES = {"r": 0o444, "w": 0o222, "m": 0}


class LinuxDevicesIsolator(ViewIsolator):
    """Makes nodes; what may be opened is for cgroups/devices to say."""

    name = "linux/devices"

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        self._edits = LaunchEdits(view=View(nodes=nodes)) if nodes else LaunchEdits()

    async def prepare(self, config: ContainerConfig, shares: Shares) -> LaunchEdits:
        """The same for all that do not see the nodes of the host."""
        return LaunchEdits() if config.root is None else self._edits


def allowed_nodes(devices: Sequence[AllowedDevice]) -> tuple[Node, ...]:
    """As they are on this machine, open to all users for what is allowed. Raises BadAgentFlags."""
    return tuple(map(_node, devices))


def _node(device: AllowedDevice) -> Node:
    path = os.path.normpath(device.path)
    if not path.startswith("/dev/"):
        raise BadAgentFlags(f"--allowed_devices: '{device.path}': linux/devices makes nodes in /dev only")
    try:
        status = os.stat(path)
    except OSError as error:
        raise BadAgentFlags(f"--allowed_devices: '{device.path}': {error.strerror}") from error
    return Node(
        path=path,
        type="b" if stat.S_ISBLK(status.st_mode) else "c",
        major=os.major(status.st_rdev),
        minor=os.minor(status.st_rdev),
        mode=sum(_MODES[bit] for bit in device.access),
    )
