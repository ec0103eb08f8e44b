"""What NVML tells, and what of it is offered (Mesos 1.11: NvidiaGpuTest.Discovery)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.gpu_machine import Description, Driver, FakeCard
from tests.gpu_machine.cards import build_cards, caps_files
from tfmesos.agent import AgentFlags
from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.gpu import Unit, find_gpus
from tfmesos.agent.gpu.cards import DeviceNode
from tfmesos.cgroups import Device
from tfmesos.resources import Resources

FUNCTION_NOT_FOUND, DRIVER_NOT_LOADED, GPU_IS_LOST = 13, 9, 15


@pytest.fixture
def flags(gpu_driver: Driver) -> AgentFlags:
    return AgentFlags(master="none", work_dir="/none", isolation="posix/gpus", nvidia_library=str(gpu_driver.nvml))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/devices").write_text(
        "Character devices:\n  1 mem\n195 nvidia\n236 nvidia-caps\n\nBlock devices:\n"
    )
    return tmp_path


@pytest.fixture
def machine(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the machine's cards: two."""
    file = root / "machine"
    monkeypatch.setenv("FAKE_GPU_MACHINE", str(file))
    describe(file, cards=build_cards(2, {}))
    return file


def describe(file: Path, *, cards: tuple[FakeCard, ...], fails: Mapping[str, int] | None = None) -> None:
    file.write_text(Description(cards=cards, fails=fails or {}).text())


async def test_all_cards_are_offered_by_their_minors_and_not_their_indices(
    flags: AgentFlags, root: Path, machine: Path
) -> None:
    cards = build_cards(3, {})
    describe(machine, cards=cards)

    supply = await find_gpus(flags, root)

    assert supply.resources == Resources.parse("gpus:3")
    assert [(unit.minor, unit.uuid) for unit in supply.units] == [(card.minor, card.uuid) for card in cards]
    assert [unit.minor for unit in supply.units] == [2, 1, 0]
    assert supply.units[0].nodes == (DeviceNode("/dev/nvidia2", Device("c", 195, 2)),)
    assert supply.units[0].name == cards[0].name
    assert supply.units[0].memory_mb == cards[0].memory_mb
    assert supply.machine is not None
    assert supply.machine.driver_version == "550.54.15"


async def test_only_the_named_cards_are_offered(flags: AgentFlags, root: Path, machine: Path) -> None:
    supply = await find_gpus(replace(flags, nvidia_gpu_devices=(1,), resources="gpus:1"), root)

    assert [unit.minor for unit in supply.units] == [0]


async def test_instances_of_a_card_in_mig_mode_are_offered_in_its_place(
    flags: AgentFlags, root: Path, machine: Path
) -> None:
    cards = build_cards(2, {0: 2})
    describe(machine, cards=cards)
    _write_caps(root, caps_files(cards))

    supply = await find_gpus(flags, root)

    assert supply.resources == Resources.parse("gpus:3")
    first, second, whole = supply.units
    assert [first.uuid, second.uuid, whole.uuid] == [*(one.uuid for one in cards[0].instances), cards[1].uuid]
    caps = "/dev/nvidia-caps/nvidia-cap"
    assert _nodes(first) == ["/dev/nvidia1 c 195:1", f"{caps}3 c 236:3", f"{caps}4 c 236:4"]
    assert _nodes(second) == ["/dev/nvidia1 c 195:1", f"{caps}5 c 236:5", f"{caps}6 c 236:6"]
    assert first.memory_mb == 4864


async def test_instances_whose_nodes_are_not_told_are_not_offered(
    flags: AgentFlags, root: Path, machine: Path, caplog: pytest.LogCaptureFixture
) -> None:
    describe(machine, cards=build_cards(2, {0: 2}))

    supply = await find_gpus(flags, root)

    assert supply.resources == Resources.parse("gpus:1")
    assert "mig-minors" in caplog.text


async def test_what_an_older_driver_lacks_is_done_without(flags: AgentFlags, root: Path, machine: Path) -> None:
    fails = dict.fromkeys(("nvmlDeviceGetMigMode", "nvmlDeviceGetName"), FUNCTION_NOT_FOUND)
    describe(machine, cards=build_cards(1, {}), fails=fails)

    supply = await find_gpus(flags, root)

    assert supply.resources == Resources.parse("gpus:1")
    assert supply.units[0].name == ""


async def test_a_driver_that_is_not_loaded_ends_the_start_with_its_own_words(
    flags: AgentFlags, root: Path, machine: Path
) -> None:
    describe(machine, cards=(), fails={"nvmlInit": DRIVER_NOT_LOADED})

    with pytest.raises(BadAgentFlags, match=r"^Failed to obtain GPU resources: NVML .*Driver Not Loaded"):
        await find_gpus(flags, root)


async def test_cards_that_do_not_answer_are_left_out(
    flags: AgentFlags, root: Path, machine: Path, caplog: pytest.LogCaptureFixture
) -> None:
    describe(machine, cards=build_cards(2, {}), fails={"nvmlDeviceGetUUID": GPU_IS_LOST})

    supply = await find_gpus(flags, root)

    assert supply.resources == Resources()
    assert "card 1: its UUID: GPU is lost: it is not offered" in caplog.text


async def test_without_a_library_what_is_given_passes_with_one_warning(
    flags: AgentFlags, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    without = replace(flags, nvidia_library="libnvidia-ml.so.none", resources="gpus:4")

    supply = await find_gpus(without, root)

    assert supply.resources == Resources.parse("gpus:4")
    assert supply.units == ()
    assert len(caplog.records) == 1
    assert "gpus:4" in caplog.text
    assert "libnvidia-ml.so.none" in caplog.text


async def test_without_an_isolator_nvml_is_not_asked(flags: AgentFlags, root: Path) -> None:
    supply = await find_gpus(replace(flags, isolation="posix/cpu", resources="gpus:4"), root)

    assert supply.machine is None
    assert supply.resources == Resources.parse("gpus:4")


def _write_caps(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = root / "proc/driver" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _nodes(unit: Unit) -> list[str]:
    return [f"{node.path} {node.device}" for node in unit.nodes]
