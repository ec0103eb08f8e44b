"""Which device of the CDI specifications a unit is, and what its container gets by that. Pure.

Devices have whatever names the administrator likes (`0`, `0:1`, `GPU-…`), and indices change with the machine. So a
unit is the device that has just the unit's nodes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from tfmesos.agent.gpu.cards import Unit
from tfmesos.agent.gpu.cdi.specification import CdiDevice, EditedNode, Edits, Specification
from tfmesos.agent.gpu.errors import GpuError

KIND = "nvidia.com/gpu"
_CARD = re.compile(r"/dev/(nvidia\d+|nvidia-caps/.+)$")


class NoSpecification(GpuError):
    """This machine has none for its GPUs."""


def edits_for(units: Collection[Unit], specifications: Iterable[Specification]) -> Edits:
    """What a container with these units gets; without units, what any gets. Raises GpuError if one is not there."""
    ours = [specification for specification in specifications if specification.kind == KIND]
    if not ours:
        raise NoSpecification(f"there is no CDI specification of {KIND}")
    edits = Edits()
    for specification in ours if not units else ():
        edits += specification.edits
    for unit in sorted(units):
        edits += _edits_of(unit, ours)
    if edits.foreign:
        raise GpuError(f"the CDI specification of {KIND} wants what cannot be done here: {', '.join(edits.foreign)}")
    return edits


def is_card(node: EditedNode) -> bool:
    """Whether it is the node of a card or of an instance of one in MIG mode."""
    return _CARD.match(node.host_path) is not None


def _edits_of(unit: Unit, specifications: Iterable[Specification]) -> Edits:
    for specification in specifications:
        found = [device for device in specification.devices if _is(device, unit)]
        if found:
            device = next((device for device in found if device.name == unit.uuid), found[0])
            return specification.edits + device.edits
    nodes = ", ".join(node.path for node in unit.nodes)
    raise GpuError(f"no CDI specification of {KIND} has a device with just the nodes of {unit.uuid} ({nodes})")


def _is(device: CdiDevice, unit: Unit) -> bool:
    own = {node.host_path for node in device.edits.nodes if is_card(node)}
    return own == {node.path for node in unit.nodes}
