"""GPUs for one job on this machine: two jobs at once never share one, nor is more promised than there is."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tfmesos.agent.gpu import GpuSupply, Unit
from tfmesos.launcher import NeverFits
from tfmesos.local.locks import NameLocks
from tfmesos.local.needs import LocalNeeds
from tfmesos.resources import scalars

__all__ = ["allot", "choose", "visible_units"]

_HIDES_FROM_THIS_PROCESS = "-1"
"""CUDA_VISIBLE_DEVICES of a program that only asks others to compute: it says nothing of what its job may use."""


_CHOOSING = "choosing"
"""Held for the moment in which a job chooses: of two that each want all, one is to get them, and not a half each."""


async def allot(supply: GpuSupply, needs: LocalNeeds, locks: NameLocks) -> GpuSupply:
    """Wait for one's turn and choose. Raises NeverFits."""
    await locks.wait(_CHOOSING)
    try:
        return choose(supply, needs, locks)
    finally:
        locks.give_back(_CHOOSING)


def choose(supply: GpuSupply, needs: LocalNeeds, locks: NameLocks) -> GpuSupply:
    """What the job asks for, the lowest that are free, held in `locks` by UUID. Raises NeverFits with numbers."""
    visible = visible_units(supply, needs.visible_cards)
    taken: list[Unit] = []
    for unit in visible:
        if len(taken) < needs.gpus and locks.take(unit.uuid):
            taken.append(unit)
    if len(taken) < needs.gpus:
        for unit in taken:
            locks.give_back(unit.uuid)
        raise NeverFits(_shortage(needs, supply, visible=len(visible), free=len(taken)))
    return replace(supply, units=tuple(taken), resources=scalars(gpus=len(taken)))


def visible_units(supply: GpuSupply, variable: str | None) -> Sequence[Unit]:
    """Those that the launcher's CUDA_VISIBLE_DEVICES names, by NVML's index or by a UUID's beginning; without it all.

    CUDA: what follows an entry that names none is ignored.
    """
    units = sorted(supply.units)
    if variable is None or variable.strip() == _HIDES_FROM_THIS_PROCESS or supply.machine is None:
        return units
    minors = {str(card.index): card.minor for card in supply.machine.cards}
    return list(dict.fromkeys(_named(units, minors, variable)))


def _named(units: Iterable[Unit], minors: Mapping[str, int], variable: str) -> Iterator[Unit]:
    for entry in variable.split(","):
        name = entry.strip()
        found = [unit for unit in units if minors.get(name) == unit.minor or (name and unit.uuid.startswith(name))]
        if not found:
            return
        yield from found


def _shortage(needs: LocalNeeds, supply: GpuSupply, *, visible: int, free: int) -> str:
    total = len(supply.units)
    text = f"the job asks for {needs.gpus} gpus, but this machine has {total or 'none'}"
    if supply.machine is None:
        text += " (NVIDIA's driver, or its libnvidia-ml.so.1, is not there; AMD's GPUs are not supported)"
    if visible < total:
        text += f", of which CUDA_VISIBLE_DEVICES='{needs.visible_cards}' leaves {visible or 'none'}"
    if free < visible:
        text += f", and other jobs use {visible - free} of them"
    return text if visible >= needs.gpus else f"{text}: give a cluster with -m"
