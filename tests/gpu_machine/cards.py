"""The cards of a fake machine: what NVML, nvidia-smi, /dev and /proc/driver tell of them."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

DRIVER_VERSION = "550.54.15"
CARD_MAJOR = 195
"""NVIDIA's own; nvidia-uvm and nvidia-caps have dynamic ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeInstance:
    """A MIG instance; `caps`: the minors of its two nodes in /dev/nvidia-caps."""

    gpu_instance: int
    compute_instance: int
    uuid: str
    memory_mb: int
    caps: tuple[int, int]

    @property
    def nodes(self) -> tuple[str, str]:
        return (f"nvidia-caps/nvidia-cap{self.caps[0]}", f"nvidia-caps/nvidia-cap{self.caps[1]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeCard:
    """A card; the order of indices is that of the PCI bus, that of minors another."""

    index: int
    minor: int
    uuid: str
    memory_mb: int = 40960
    used_mb: int = 512
    utilisation: int = 10
    name: str = "NVIDIA A100-SXM4-40GB"
    is_mig: bool = False
    instances: tuple[FakeInstance, ...] = ()

    @property
    def node(self) -> str:
        return f"nvidia{self.minor}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The text that the fake driver reads; `fails`: the code that a function of NVML answers."""

    cards: tuple[FakeCard, ...]
    processes: tuple[tuple[int, int, int], ...] = ()
    """Card, pid, used MB."""
    fails: Mapping[str, int] = field(default_factory=dict)

    def text(self) -> str:
        return "".join(line + "\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"driver {DRIVER_VERSION}"
        yield "cuda 12040"
        for name, code in self.fails.items():
            yield f"fails {name} {code}"
        for card in self.cards:
            bus = f"00000000:{card.index + 1:02X}:00.0"
            numbers = f"{card.memory_mb} {card.used_mb} {card.utilisation} {int(card.is_mig)}"
            yield f"card {card.index} {card.minor} {card.uuid} {bus} {numbers} {card.name}"
            for one in card.instances:
                ids = f"{card.index} {one.gpu_instance} {one.compute_instance} {one.uuid}"
                yield f"instance {ids} {one.memory_mb} 0 {one.caps[0]} {one.caps[1]} 1g.5gb"
        for card_index, pid, used_mb in self.processes:
            yield f"process {card_index} {pid} {used_mb}"


def build_cards(number: int, mig: Mapping[int, int]) -> tuple[FakeCard, ...]:
    """So many cards, with minors that run the other way; `mig`: index → instances of a card in MIG mode."""
    caps = count(3)  # 1 and 2 are those of MIG's configuration and monitor
    return tuple(
        FakeCard(
            index=index,
            minor=number - 1 - index,
            uuid=f"GPU-{uuid.uuid4()}",
            is_mig=index in mig,
            instances=tuple(_build_instance(at, next(caps), next(caps)) for at in range(mig.get(index, 0))),
        )
        for index in range(number)
    )


def _build_instance(at: int, first_cap: int, second_cap: int) -> FakeInstance:
    return FakeInstance(
        gpu_instance=7 + at,
        compute_instance=0,
        uuid=f"MIG-{uuid.uuid4()}",
        memory_mb=4864,
        caps=(first_cap, second_cap),
    )


def caps_files(cards: Collection[FakeCard]) -> Mapping[str, str]:
    """Below /proc/driver: which node of /dev/nvidia-caps stands for what (NVIDIA's MIG user guide, "device nodes")."""
    minors = {"mig/config": 1, "mig/monitor": 2}
    short = {"config": 1, "monitor": 2}
    for card in cards:
        for one in card.instances:
            instance, compute = f"gi{one.gpu_instance}", f"ci{one.compute_instance}"
            minors[f"gpu{card.minor}/mig/{instance}/access"] = one.caps[0]
            minors[f"gpu{card.minor}/mig/{instance}/{compute}/access"] = one.caps[1]
            short[f"gpu{card.minor}/{instance}/access"] = one.caps[0]
            short[f"gpu{card.minor}/{instance}/{compute}/access"] = one.caps[1]
    text = "DeviceFileMinor: {}\nDeviceFileMode: 292\nDeviceFileModify: 1\n"
    files = {f"nvidia/capabilities/{path}": text.format(minor) for path, minor in minors.items()}
    files["nvidia-caps/mig-minors"] = "".join(f"{path} {minor}\n" for path, minor in short.items())
    return files
