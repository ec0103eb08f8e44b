"""What isolators need of a machine and of the agent's rights, said when an agent starts."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest

from tfmesos.agent import AgentFlags, BadAgentFlags
from tfmesos.agent.isolators import build_isolation, wanted_isolators
from tfmesos.cgroups import Hierarchies, Hierarchy

NOBODY = 65534
FLAGS = AgentFlags(master="none", work_dir="none")


def refusal_of_nobody(flags: AgentFlags) -> str:
    """What an agent of the user nobody is told when it starts."""
    receiving, sending = os.pipe()
    if os.fork() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        try:
            build_isolation(flags, "nobody")
        except BadAgentFlags as refused:
            os.write(sending, str(refused).encode())
        finally:
            os._exit(0)
    os.close(sending)
    with open(receiving) as told:
        return told.read()


@pytest.mark.root
@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (
            replace(FLAGS, isolation="cgroups/mem"),
            "Failed to create isolator 'cgroups/mem': it requires root privileges: run the agent as root",
        ),
        (
            replace(FLAGS, isolation="cgroups/all"),
            "Failed to create isolator 'cgroups/all': it requires root privileges",
        ),
        (replace(FLAGS, launcher="linux"), "--launcher=linux: it needs root; or use --launcher=posix"),
        (FLAGS, ""),
    ],
)
def test_who_is_not_root_is_told_what_needs_root(flags: AgentFlags, text: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody else")

    told = refusal_of_nobody(flags)

    assert told == text or (text and text in told)


def _machine(*controllers: str) -> Hierarchies:
    """One whose kernel knows cpu and memory, the latter switched off."""
    trees = [Hierarchy(path="/", version=1, controllers=frozenset(controllers))]
    return Hierarchies(trees, [("cpu", True), ("memory", False)])


@pytest.mark.root
@pytest.mark.parametrize(
    ("isolation", "text"),
    [
        ("cgroups/mem", "Failed to create isolator 'cgroups/mem': the kernel's cgroup controller 'memory' is switched"),
        ("cgroups/pids", "Failed to create isolator 'cgroups/pids': the kernel has no cgroup controller 'pids'"),
        ("cgroups/all,gpu/nvidia", "Failed to create isolator 'cgroups/devices': the kernel has no cgroup controller"),
    ],
)
def test_what_the_kernel_lacks_is_named_with_the_remedy(isolation: str, text: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")

    with pytest.raises(BadAgentFlags) as refused:
        wanted_isolators(replace(FLAGS, isolation=isolation), _machine("cpu"))

    assert text in str(refused.value)


@pytest.mark.root
def test_all_cgroups_are_those_that_the_machine_has() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")

    names = wanted_isolators(replace(FLAGS, isolation="cgroups/all"), _machine("cpu")).names

    assert names == ("filesystem/posix", "cgroups/cpu", "environment_secret")


@pytest.mark.root
@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (
            {"image_providers": ("DOCKER",)},
            "--image_providers: The 'filesystem/linux' isolator must be enabled for container image support: "
            "--isolation=filesystem/linux,docker/runtime",
        ),
        (
            {"image_providers": ("DOCKER",), "isolation": "filesystem/linux", "launcher": "posix"},
            "--image_providers: The 'linux' launcher must be used for container image support: --launcher=linux",
        ),
        (
            {"isolation": "linux/nnp", "launcher": "posix"},
            "--isolation: Failed to create isolator 'linux/nnp': it requires the 'linux' launcher: --launcher=linux",
        ),
        (
            {
                "isolation": "linux/capabilities",
                "effective_capabilities": '{"capabilities":["NET_RAW","KILL"]}',
                "bounding_capabilities": '{"capabilities":["KILL"]}',
            },
            "--effective_capabilities: CAP_NET_RAW not allowed by --bounding_capabilities",
        ),
    ],
)
def test_what_contradicts_another_flag_is_told_when_the_agent_starts(flags: dict[str, Any], text: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")

    with pytest.raises(BadAgentFlags) as refused:
        build_isolation(replace(FLAGS, **flags), "nobody")

    assert str(refused.value) == text
