"""Units of tests."""

from __future__ import annotations

from tfmesos.agent.gpu.cards import CARD_MAJOR, DeviceNode, Unit
from tfmesos.cgroups import Device


def unit(minor: int, instance: tuple[int, ...] = ()) -> Unit:
    """A card; or an instance, with a caps node of a number of its own."""
    nodes = [DeviceNode(f"/dev/nvidia{minor}", Device("c", CARD_MAJOR, minor))]
    if instance:
        cap = 100 * minor + sum(instance)
        nodes.append(DeviceNode(f"/dev/nvidia-caps/nvidia-cap{cap}", Device("c", 236, cap)))
    kind = "MIG" if instance else "GPU"
    return Unit(minor=minor, instance=instance, uuid="-".join(map(str, (kind, minor, *instance))), nodes=tuple(nodes))
