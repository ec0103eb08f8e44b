"""Units of tests."""

from __future__ import annotations

from tfmesos.agent.gpu.cards import CARD_MAJOR, Unit
from tfmesos.cgroups import Device


def unit(minor: int, instance: tuple[int, ...] = ()) -> Unit:
    """A card; or an instance, with a caps node of a number of its own."""
    devices = [Device("c", CARD_MAJOR, minor)]
    if instance:
        devices.append(Device("c", 236, 100 * minor + sum(instance)))
    kind = "MIG" if instance else "GPU"
    return Unit(
        minor=minor, instance=instance, uuid="-".join(map(str, (kind, minor, *instance))), devices=tuple(devices)
    )
