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
        ("filesystem/posix,cgroups/pids,cgroups/cpu", ("cgroups/cpu", "cgroups/pids")),
        ("environment_secret", ()),
        (
            "volume/sandbox_path,namespaces/pid,docker/runtime,posix/rlimits,linux/capabilities",
            ("posix/rlimits", "docker/runtime", "linux/capabilities", "namespaces/pid", "volume/sandbox_path"),
        ),
    ],
)
def test_names_are_put_in_the_order_of_the_table_whatever_their_order_in_the_flag(
    text: str, names: tuple[str, ...]
) -> None:
    assert parse_isolation(text).names == ("filesystem/posix", *names, "environment_secret")


def test_with_the_linux_file_system_come_the_volumes_that_it_can_mount() -> None:
    assert parse_isolation("docker/runtime,filesystem/linux").names == (
        "filesystem/linux",
        "docker/runtime",
        "volume/sandbox_path",
        "volume/host_path",
        "volume/image",
        "environment_secret",
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "posix/cpus",
            "Unknown or unsupported isolator: posix/cpus; this agent knows filesystem/posix, ",
        ),
        ("cgroups/cpu,network/cni", "isolator 'network/cni' is not supported by this agent yet; it knows "),
        (
            "filesystem/posix,filesystem/linux",
            "Using multiple filesystem isolators is not supported: filesystem/posix, filesystem/linux",
        ),
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
        "filesystem/posix",
        "cgroups/mem",
        "cgroups/devices",
        "gpu/nvidia",
        "environment_secret",
    )


def test_gpus_need_rules_of_devices() -> None:
    assert dependency_fault(parse_isolation("cgroups/all,gpu/nvidia")) is None
    assert dependency_fault(parse_isolation("gpu/nvidia,cgroups/devices")) is None
    assert dependency_fault(parse_isolation("gpu/nvidia")) == (
        "Failed to create isolator 'gpu/nvidia': The 'cgroups/devices' or 'cgroups/all' isolator must be enabled in "
        "order to use the 'gpu/nvidia' isolator: --isolation=cgroups/devices,gpu/nvidia"
    )


@pytest.mark.parametrize("name", ["volume/host_path", "volume/image", "volume/secret"])
def test_what_is_mounted_needs_the_linux_file_system(name: str) -> None:
    assert dependency_fault(parse_isolation(name)) == (
        f"Failed to create isolator '{name}': The 'filesystem/linux' isolator must be enabled in order to use the "
        f"'{name}' isolator: --isolation=filesystem/linux,{name}"
    )
