"""What GPUs an agent offers: --resources, --nvidia_gpu_devices and --isolation together. Pure.

The order of the questions is that of Mesos 1.11 (isolators/gpu/allocator.cpp); an instance of a card in MIG mode counts
as a GPU, such a card does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tfmesos.agent.gpu.errors import GpuError, NvmlFailed
from tfmesos.resources import Resources, ResourcesError

_DEVICES = "--nvidia_gpu_devices"
_THOUSANDTHS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the flags say. `is_isolated`: --isolation names an isolator of GPUs."""

    is_isolated: bool
    devices: tuple[int, ...] | None
    resources: str | None
    default_role: str = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What is offered, and by which cards (NVML's indices).

    `is_unchecked`: as --resources says, without knowing of any card.
    """

    resources: Resources
    cards: tuple[int, ...] = ()
    is_unchecked: bool = False


def offered_gpus(wish: Wish, found: Mapping[int, int] | NvmlFailed | None) -> Offer:
    """What to offer. `found`: how many units each card has, by index; or why NVML does not tell; None: no NVML.

    Raises GpuError for flags that contradict each other or the machine.
    """
    if wish.devices is not None and not wish.is_isolated:
        raise GpuError(f"{_DEVICES} needs 'gpu/nvidia' (or 'posix/gpus') in --isolation")
    given = _given(wish)
    if not wish.is_isolated or found is None:
        return Offer(resources=given, is_unchecked=bool(given))
    if isinstance(found, NvmlFailed):
        raise found
    if wish.resources is not None and "gpus" in wish.resources and not given:
        if wish.devices is not None:
            raise GpuError(f"{_DEVICES} names GPUs, but --resources says that there are none: {wish.resources}")
        return Offer(resources=given)
    if wish.devices is None:
        return _all(wish, given, found)
    _check(given, wish.devices, found)
    return Offer(resources=given, cards=wish.devices)


def _given(wish: Wish) -> Resources:
    try:
        parsed = Resources.parse(wish.resources, wish.default_role) if wish.resources else Resources()
    except ResourcesError as error:
        raise GpuError(f"--resources: {error}") from error
    return Resources(entry for entry in parsed if entry.key.name == "gpus")


def _all(wish: Wish, given: Resources, found: Mapping[int, int]) -> Offer:
    if given:
        raise GpuError(f"--resources offers {given}: which they are is to be said by {_DEVICES}, or leave both out")
    total = sum(found.values())
    return Offer(resources=Resources.parse(f"gpus:{total}", wish.default_role), cards=tuple(found))


def _check(given: Resources, devices: tuple[int, ...], found: Mapping[int, int]) -> None:
    """Both flags are given: do they agree?"""
    wanted = given.scalar("gpus")
    listed = ",".join(map(str, devices))
    if not given:
        raise GpuError(f"{_DEVICES}={listed} needs the number of GPUs in --resources, too: gpus:{len(devices)}")
    if wanted % _THOUSANDTHS:
        raise GpuError(f"--resources with {_DEVICES}: The 'gpus' resource must be an non-negative integer, not {given}")
    if len(set(devices)) != len(devices):
        raise GpuError(f"'{_DEVICES}' contains duplicates: {listed} (--resources: {given})")
    count = sum(found.get(index, 1) for index in devices)
    if count * _THOUSANDTHS != wanted:
        raise GpuError(f"--resources offers {given}, but the GPUs of {_DEVICES}={listed} are {count}")
    total = sum(found.values())
    if count > total:
        raise GpuError(f"--resources and {_DEVICES} offer {count} GPUs, but this machine has {total}")
    for index in devices:
        if index not in found:
            raise GpuError(
                f"{_DEVICES}={listed} with --resources={given}: GPU device not found: {index}; "
                f"there are {', '.join(map(str, found))}"
            )
