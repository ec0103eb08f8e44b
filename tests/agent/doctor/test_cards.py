"""On small trees."""

from pathlib import Path

import pytest

from tfmesos.agent.doctor import DoctorFlags, Finding
from tfmesos.agent.doctor.cards import card_findings
from tfmesos.agent.doctor.wants import Wants

OPEN_MODULE = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (dvs-builder)\n"
MODULE = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n"


def add(root: Path, path: str, text: str = "") -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def add_card(root: Path, slot: str, vendor: str, kind: str = "0x030200") -> None:
    add(root, f"sys/bus/pci/devices/{slot}/vendor", f"{vendor}\n")
    add(root, f"sys/bus/pci/devices/{slot}/class", f"{kind}\n")


def found(root: Path, isolation: str = "cgroups/devices,gpu/nvidia") -> dict[str, Finding]:
    wants = Wants.of(DoctorFlags(isolation=isolation))
    return {finding.subject: finding for finding in card_findings(wants, root)}


def test_cards_on_the_bus_are_counted_and_their_sound_is_not(tmp_path: Path) -> None:
    add_card(tmp_path, "0000:01:00.0", "0x10de")
    add_card(tmp_path, "0000:01:00.1", "0x10de", kind="0x040300")
    add_card(tmp_path, "0000:02:00.0", "0x10de", kind="0x030000")

    assert found(tmp_path)["cards of NVIDIA"].text == "2 on the PCI bus"


def test_cards_of_amd_are_said_not_to_be_offered(tmp_path: Path) -> None:
    add_card(tmp_path, "0000:01:00.0", "0x1002")

    findings = found(tmp_path)

    assert not findings["cards of NVIDIA"].is_there
    assert not findings["cards of AMD"].is_missing
    assert "agents do not offer" in findings["cards of AMD"].text


@pytest.mark.parametrize(("text", "version"), [(MODULE, "535.104.05"), (OPEN_MODULE, "570.86.15")])
def test_the_version_of_the_module_is_told(tmp_path: Path, text: str, version: str) -> None:
    add(tmp_path, "proc/driver/nvidia/version", text)

    assert found(tmp_path)["driver"].line().split()[-1] == version


def test_nouveau_that_has_the_cards_is_told_with_the_way_to_be_rid_of_it(tmp_path: Path) -> None:
    add(tmp_path, "sys/module/nouveau/initstate", "live")

    finding = found(tmp_path)["nouveau"]

    assert finding.is_missing
    assert "blacklist nouveau" in finding.line()


def test_nouveau_beside_a_working_driver_is_no_fault(tmp_path: Path) -> None:
    add(tmp_path, "sys/module/nouveau/initstate", "live")
    add(tmp_path, "proc/driver/nvidia/version", MODULE)

    assert found(tmp_path)["nouveau"].is_there


@pytest.mark.parametrize("isolation", ["cgroups/devices,gpu/nvidia", "posix/gpus"])
def test_whoever_offers_gpus_needs_the_driver(tmp_path: Path, isolation: str) -> None:
    assert found(tmp_path, isolation)["driver"].is_missing


def test_nothing_of_a_driver_is_missed_by_an_agent_without_gpus(tmp_path: Path) -> None:
    add(tmp_path, "sys/module/nouveau/initstate", "live")

    assert not any(finding.is_missing for finding in found(tmp_path, "posix/cpu,posix/mem").values())
