"""The GPUs of this machine, and those of them that the agent offers."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.gpu.cards import CARD_MAJOR, Card, DeviceNode, Unit
from tfmesos.agent.gpu.enumeration import Wish, offered_gpus
from tfmesos.agent.gpu.errors import GpuError, NvmlFailed, NvmlMissing
from tfmesos.agent.gpu.nodes import MigNodes
from tfmesos.agent.gpu.nvml import LIBRARY, Nvml
from tfmesos.agent.gpu.nvml_thread import NvmlThread
from tfmesos.agent.isolators import parse_isolation
from tfmesos.agent.isolators.table import GPU_NVIDIA, GPU_POSIX
from tfmesos.cgroups import Device
from tfmesos.resources import Resources

_TIMEOUT_S = 60.0  # without the persistence daemon the first call wakes each card up, which takes seconds
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What NVML tells. `faults`: what cannot be used, in words; a broken card does not keep the others from use."""

    driver_version: str
    cards: tuple[Card, ...]
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSupply:
    """What an agent offers. `units` are the very ones; there are none where --resources names a number unchecked."""

    resources: Resources = field(default_factory=Resources)
    units: tuple[Unit, ...] = ()
    machine: Machine | None = None
    """None where nobody asked NVML, or it is not there."""
    missing: NvmlMissing | None = None
    """Why NVML is not there, if it was wanted."""
    nvml: Nvml | None = None
    """To be called in `thread` only."""
    thread: NvmlThread = field(default_factory=NvmlThread)
    volume_directory: Path | None = None
    """Where the volume of the driver is, if not in the agent's --work_dir."""


async def discover(library: str = LIBRARY, thread: NvmlThread | None = None) -> tuple[Nvml, Machine]:
    """Ask NVML. Raises NvmlMissing, NvmlFailed."""
    return await (thread or NvmlThread()).call(lambda: _read(library), timeout_s=_TIMEOUT_S)


async def find_gpus(flags: AgentFlags, root: Path = Path("/")) -> GpuSupply:
    """What an agent with these flags offers. Raises BadAgentFlags: the text names the flags that are at odds."""
    names = parse_isolation(flags.isolation)
    wish = Wish(
        is_isolated=GPU_NVIDIA in names or GPU_POSIX in names,
        devices=flags.nvidia_gpu_devices,
        resources=flags.resources,
        default_role=flags.default_role,
    )
    try:
        return await _find(wish, flags.nvidia_library, root)
    except GpuError as error:
        raise BadAgentFlags(f"Failed to obtain GPU resources: {error}") from error


async def _find(wish: Wish, library: str, root: Path) -> GpuSupply:
    thread, nvml, machine = NvmlThread(), None, None
    fault: NvmlMissing | NvmlFailed | None = None
    if wish.is_isolated:
        _log.info("asking the driver for its cards, by %s", library)  # which it may leave open for long
        try:
            nvml, machine = await discover(library, thread)
        except (NvmlMissing, NvmlFailed) as error:
            fault = error
    units = dict(_units(machine.cards, MigNodes.read(root))) if machine is not None else {}
    counts = {index: len(its) for index, its in units.items()} if machine is not None else None
    offer = offered_gpus(wish, fault if isinstance(fault, NvmlFailed) else counts)
    offered = tuple(unit for index in offer.cards for unit in units[index])
    if offer.is_unchecked:
        why = fault or "no isolator of GPUs is in --isolation"
        _log.warning("--resources offers %s as it stands, no card is looked for or isolated: %s", offer.resources, why)
    if machine is not None:
        _tell(machine, offered)
    missing = fault if isinstance(fault, NvmlMissing) else None
    return GpuSupply(
        resources=offer.resources, units=offered, machine=machine, missing=missing, nvml=nvml, thread=thread
    )


def _tell(machine: Machine, offered: Collection[Unit]) -> None:
    for fault in machine.faults:
        _log.warning("%s", fault)
    _log.info("GPUs: %d cards on this machine, gpus:%d offered", len(machine.cards), len(offered))
    for unit in offered:
        _log.info("GPU %s on /dev/nvidia%d: %s, %d MB", unit.uuid, unit.minor, unit.name, unit.memory_mb)


def _read(library: str) -> tuple[Nvml, Machine]:
    nvml = Nvml.open(library)
    cards: list[Card] = []
    faults: list[str] = []
    for index in range(nvml.count()):
        try:
            cards.append(nvml.card(index))
        except NvmlFailed as error:
            faults.append(f"{error}: it is not offered")
    return nvml, Machine(driver_version=nvml.driver_version(), cards=tuple(cards), faults=tuple(faults))


def _units(cards: Iterable[Card], nodes: MigNodes) -> Iterator[tuple[int, tuple[Unit, ...]]]:
    for card in cards:
        yield card.index, tuple(_instances(card, nodes)) if card.is_mig else (_whole(card),)


def _node(card: Card) -> DeviceNode:
    return DeviceNode(f"/dev/nvidia{card.minor}", Device("c", CARD_MAJOR, card.minor))


def _whole(card: Card) -> Unit:
    return Unit(minor=card.minor, uuid=card.uuid, name=card.name, memory_mb=card.memory_mb, nodes=(_node(card),))


def _instances(card: Card, nodes: MigNodes) -> Iterator[Unit]:
    if not card.mig:
        _log.warning("card %s (%s) is in MIG mode and has no instances: it offers nothing", card.index, card.uuid)
    for part in card.mig:
        caps = nodes.of_instance(card.minor, part.gpu_instance, part.compute_instance)
        if caps is None:
            _log.warning("%s: the driver does not tell its nodes (mig-minors): it is not offered", part.uuid)
            continue
        yield Unit(
            minor=card.minor,
            instance=(part.gpu_instance, part.compute_instance),
            uuid=part.uuid,
            name=part.name or card.name,
            memory_mb=part.memory_mb,
            nodes=(_node(card), *caps),
        )
