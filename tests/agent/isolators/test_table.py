"""--isolation: what it may name."""

from __future__ import annotations

import pytest

from tfmesos.agent.isolators import parse_isolation
from tfmesos.agent.isolators.table import dependency_fault
from tfmesos.flags import FlagError


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ()),
        ("posix/cpu,posix/mem", ("posix/cpu", "posix/mem")),
        ("process", ("posix/cpu", "posix/mem")),
        ("cgroups", ("cgroups/cpu", "cgroups/mem")),
        (" gpu/nvidia , cgroups/devices ", ("cgroups/devices", "gpu/nvidia")),
        ("filesystem/posix,cgroups/pids,cgroups/cpu", ("filesystem/posix", "cgroups/cpu", "cgroups/pids")),
    ],
)
def test_names_are_put_in_the_order_of_the_table_whatever_their_order_in_the_flag(
    text: str, names: tuple[str, ...]
) -> None:
    assert parse_isolation(text).names == names


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("posix/cpus", "Unknown or unsupported isolator: posix/cpus; this agent knows filesystem/posix, posix/cpu, "),
        ("cgroups/cpu,docker/runtime", "isolator 'docker/runtime' is not supported by this agent yet; it knows "),
        ("cgroups/mem,cgroups/cpu,cgroups/mem", "Duplicate entries found in --isolation flag: cgroups/mem"),
        ("cgroups,cgroups/mem", "Duplicate entries found in --isolation flag: cgroups/mem"),
        ("posix/mem,cgroups/mem", "'posix/mem' and 'cgroups/mem' contradict each other: give one of them"),
        ("posix/cpu,cgroups/all", "'posix/cpu' and 'cgroups/cpu' contradict each other: give one of them"),
        ("posix/gpus,gpu/nvidia", "'posix/gpus' and 'gpu/nvidia' contradict each other: give one of them"),
    ],
)
def test_what_is_unknown_doubled_or_contradictory_is_refused_by_name(text: str, fault: str) -> None:
    with pytest.raises(FlagError) as refused:
        parse_isolation(text)

    assert fault in str(refused.value)


def test_all_cgroups_subsume_the_others_and_become_one_isolator_for_each_controller_that_there_is() -> None:
    found = parse_isolation("cgroups/cpu,gpu/nvidia,cgroups/all")

    assert "cgroups/devices" in found
    assert found.with_cgroups(["memory", "devices", "freezer"]).names == (
        "cgroups/mem",
        "cgroups/devices",
        "gpu/nvidia",
    )


def test_gpus_need_rules_of_devices() -> None:
    assert dependency_fault(parse_isolation("cgroups/all,gpu/nvidia")) is None
    assert dependency_fault(parse_isolation("gpu/nvidia,cgroups/devices")) is None
    assert dependency_fault(parse_isolation("gpu/nvidia")) == (
        "Failed to create isolator 'gpu/nvidia': The 'cgroups/devices' or 'cgroups/all' isolator must be enabled in "
        "order to use the 'gpu/nvidia' isolator: --isolation=cgroups/devices,gpu/nvidia"
    )
