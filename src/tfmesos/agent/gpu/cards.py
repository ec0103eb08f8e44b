"""What there is: cards, and units, which are what is allocated. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, field

from tfmesos.cgroups import Device

CARD_MAJOR = 195
"""Of the nodes of cards, /dev/nvidia<minor> (kernel: Documentation/admin-guide/devices.txt)."""


@dataclass(frozen=True, slots=True)
class DeviceNode:
    """A device, and where its node is on this machine and in containers with an image."""

    path: str
    device: Device


@dataclass(frozen=True, slots=True, kw_only=True)
class MigInstance:
    """A part of a card in MIG mode: a compute instance in a GPU instance."""

    uuid: str
    gpu_instance: int
    compute_instance: int
    memory_mb: int
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A card as NVML tells it. The index is NVML's (in the order of the bus) and is not the minor of its node."""

    index: int
    minor: int
    uuid: str
    name: str
    memory_mb: int
    is_mig: bool = False
    """It is in MIG mode: only its instances can be used, if it has any."""
    mig: tuple[MigInstance, ...] = ()


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Unit:
    """What one `gpus:1` stands for: a card, or an instance of a card in MIG mode. Ordered by minor, then instance.

    Prints as `195.<minor>`, an instance as `195.<minor>/<gpu instance>/<compute instance>`.
    """

    minor: int
    instance: tuple[int, ...] = ()
    uuid: str = field(compare=False)
    """What CUDA_VISIBLE_DEVICES names it by."""
    name: str = field(compare=False, default="")
    memory_mb: int = field(compare=False, default=0)
    nodes: tuple[DeviceNode, ...] = field(compare=False, default=())
    """All that must open for whoever uses it, beside the control devices."""

    def __str__(self) -> str:
        return "/".join([f"{CARD_MAJOR}.{self.minor}", *map(str, self.instance)])
