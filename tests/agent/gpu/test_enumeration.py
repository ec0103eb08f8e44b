"""Each row of the table of flags (Mesos 1.11: NvidiaGpuTest.FlagValidation), in its order."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tfmesos.agent.gpu.enumeration import Offer, Wish, offered_gpus
from tfmesos.agent.gpu.errors import GpuError, NvmlFailed
from tfmesos.resources import Resources

TWO_CARDS = {0: 1, 1: 1}
BROKEN = NvmlFailed("NVML cannot be initialized: Driver Not Loaded")


def offer(
    resources: str | None = None,
    devices: tuple[int, ...] | None = None,
    found: Mapping[int, int] | NvmlFailed | None = TWO_CARDS,
    *,
    is_isolated: bool = True,
    default_role: str = "*",
) -> Offer:
    wish = Wish(is_isolated=is_isolated, devices=devices, resources=resources, default_role=default_role)
    return offered_gpus(wish, found)


def test_devices_without_an_isolator_are_refused_whatever_else_is_wrong() -> None:
    with pytest.raises(GpuError, match=r"^--nvidia_gpu_devices needs 'gpu/nvidia' .* in --isolation$"):
        offer("gpus:x", (0,), is_isolated=False)


def test_resources_that_do_not_parse_are_refused_before_the_cards_matter() -> None:
    with pytest.raises(GpuError, match=r"^--resources: "):
        offer("gpus", found=BROKEN)


@pytest.mark.parametrize("nvml", [None, BROKEN, TWO_CARDS])
def test_without_an_isolator_what_is_given_passes(nvml: Mapping[int, int] | NvmlFailed | None) -> None:
    assert offer("cpus:1;gpus:100", found=nvml, is_isolated=False) == Offer(
        resources=Resources.parse("gpus:100"), is_unchecked=True
    )
    assert offer("cpus:1", found=nvml, is_isolated=False) == Offer(resources=Resources())


def test_without_nvml_what_is_given_passes_whatever_the_devices() -> None:
    assert offer("gpus:100", (0, 0), None) == Offer(resources=Resources.parse("gpus:100"), is_unchecked=True)
    assert offer(None, found=None) == Offer(resources=Resources())


@pytest.mark.parametrize("resources", [None, "gpus:0", "gpus:2"])
def test_an_nvml_that_fails_is_an_error_whatever_is_given(resources: str | None) -> None:
    with pytest.raises(NvmlFailed, match="Driver Not Loaded"):
        offer(resources, found=BROKEN)


@pytest.mark.parametrize("resources", ["cpus:1;gpus:0", '[{"name":"gpus","type":"SCALAR","scalar":{"value":0}}]'])
def test_gpus_0_offers_none_and_contradicts_devices(resources: str) -> None:
    assert offer(resources) == Offer(resources=Resources())
    with pytest.raises(GpuError, match=r"^--nvidia_gpu_devices .* --resources says that there are none"):
        offer(resources, (0,))


@pytest.mark.parametrize("resources", [None, "cpus:1"])
def test_devices_without_a_number_are_refused(resources: str | None) -> None:
    with pytest.raises(GpuError, match=r"^--nvidia_gpu_devices=0 needs the number of GPUs in --resources"):
        offer(resources, (0,))


def test_a_number_without_devices_is_refused() -> None:
    with pytest.raises(GpuError, match=r"^--resources offers gpus:1: .* by --nvidia_gpu_devices"):
        offer("gpus:1")


def test_a_part_of_a_gpu_is_refused_before_the_devices_are_looked_at() -> None:
    with pytest.raises(GpuError, match=r"--nvidia_gpu_devices.*must be an non-negative integer"):
        offer("gpus:0.5", (0, 0))


def test_doubled_devices_are_refused_before_they_are_counted() -> None:
    with pytest.raises(GpuError, match=r"^'--nvidia_gpu_devices' contains duplicates: 0,0 \(--resources"):
        offer("gpus:1", (0, 0))


@pytest.mark.parametrize("resources", ["gpus:2", "gpus:5"])
def test_another_number_than_of_devices_is_refused(resources: str) -> None:
    with pytest.raises(GpuError, match=r"^--resources offers gpus:\d, but the GPUs of --nvidia_gpu_devices=0 are 1$"):
        offer(resources, (0,))


def test_more_than_the_machine_has_is_refused() -> None:
    with pytest.raises(GpuError, match=r"--resources and --nvidia_gpu_devices offer 4 GPUs, but this machine has 2"):
        offer("gpus:4", (0, 1, 2, 3))


def test_a_card_that_is_not_there_is_refused_by_its_index() -> None:
    with pytest.raises(GpuError, match=r"--nvidia_gpu_devices=7 with --resources.*not found: 7; there are 0, 1"):
        offer("gpus:1", (7,))


def test_what_is_given_is_offered_with_its_roles_by_the_given_cards() -> None:
    assert offer("gpus(a):1;cpus:3;gpus(b):1", (1, 0)) == Offer(
        resources=Resources.parse("gpus(a):1;gpus(b):1"), cards=(1, 0)
    )


@pytest.mark.parametrize("resources", [None, "", "cpus:1"])
def test_with_neither_flag_all_that_is_found_is_offered_to_the_default_role(resources: str | None) -> None:
    assert offer(resources, default_role="lab") == Offer(resources=Resources.parse("gpus(lab):2"), cards=(0, 1))


def test_instances_of_a_card_in_mig_mode_count_and_the_card_does_not() -> None:
    found = {0: 3, 1: 1, 2: 0}

    assert offer(found=found).resources == Resources.parse("gpus:4")
    assert offer("gpus:3", (0,), found).cards == (0,)
    with pytest.raises(GpuError, match="offers gpus:1, but the GPUs of --nvidia_gpu_devices=0 are 3"):
        offer("gpus:1", (0,), found)
