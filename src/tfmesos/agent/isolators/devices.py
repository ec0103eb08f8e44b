"""cgroups/devices: containers open only what they need (Mesos 1.11: cgroups/subsystems/devices.cpp)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfmesos.agent.isolators.allowed_devices import default_rules
from tfmesos.agent.isolators.isolator import LaunchEdits, QuietIsolator, Shares
from tfmesos.cgroups import DeviceRule

if TYPE_CHECKING:
    from tfmesos.agent.containerizer.config import ContainerConfig
    from tfmesos.agent.containerizer.identifiers import ContainerId


class DevicesIsolator(QuietIsolator):
    """Allows each container the devices that all need, and those of --allowed_devices; without it no rules are set."""

    name = "cgroups/devices"

    def __init__(self, allowed: tuple[DeviceRule, ...] = ()) -> None:
        self._edits = LaunchEdits(devices=(*default_rules(), *allowed))

    async def prepare(self, config: ContainerConfig, shares: Shares) -> LaunchEdits:
        """The same for all."""
        return self._edits

    async def update(self, container_id: ContainerId, shares: Shares) -> LaunchEdits:
        """The same always."""
        return self._edits
