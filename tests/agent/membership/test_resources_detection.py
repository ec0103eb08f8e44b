"""What an agent offers when it is told nothing, something, or nonsense."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tfmesos.agent import BadAgentFlags
from tfmesos.agent.membership.resources_detection import offered_resources
from tfmesos.resources import Resources

AS_JSON = """[
    {"name": "cpus", "type": "SCALAR", "scalar": {"value": 0.5}},
    {"name": "mem", "type": "SCALAR", "scalar": {"value": 0}}
]"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine with 8 GB."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal:        8388608 kB\nMemFree: 1 kB\n")
    return tmp_path


def test_what_is_not_said_is_detected(root: Path) -> None:
    found = offered_resources(None, "*", root, root)

    assert found.scalar("cpus") == 1000 * (os.cpu_count() or 1)
    assert found.scalar("mem") == 1000 * (8192 - 1024)
    assert found.scalar("disk") > 0
    assert found.ranges("ports").pairs == ((31000, 32000),)


def test_a_small_machine_keeps_half_of_its_memory(root: Path) -> None:
    (root / "proc/meminfo").write_text("MemTotal:        1048576 kB\n")

    assert offered_resources(None, "*", root, root).scalar("mem") == 1000 * 512


@pytest.mark.parametrize(
    "text",
    ["cpus:0.5; mem(lab):0", AS_JSON],
)
def test_what_is_said_is_taken_and_zero_counts(root: Path, text: str) -> None:
    found = offered_resources(text, "*", root, root)

    assert found.scalar("cpus") == 500
    assert found.scalar("mem") == 0
    assert found.scalar("disk") > 0


def test_the_default_role_reserves(root: Path) -> None:
    found = offered_resources("cpus:2;mem(*):1", "lab", root, root)

    assert found.reserved_to("lab").scalar("cpus") == 2000
    assert found.unreserved().scalar("mem") == 1000


@pytest.mark.parametrize("text", ["cpus", "cpus:x", "cpus:-1", "ports:[1-"])
def test_nonsense_is_refused_by_name(root: Path, text: str) -> None:
    with pytest.raises(BadAgentFlags, match="--resources: "):
        offered_resources(text, "*", root, root)


def test_gpus_are_what_was_found_whatever_is_said(root: Path) -> None:
    offered = offered_resources("cpus:1;gpus:1", "*", root, root, gpus=Resources.parse("gpus:2"))

    assert offered.scalar("gpus") == 2000
