"""Of fake GPU machines, by the program."""

from __future__ import annotations

import json
import sys

import pytest

from tests.gpu_machine import DRIVER_VERSION, GpuMachine, StartGpuMachine, View

GPUS = "--isolation=cgroups/devices,gpu/nvidia"


def examine(machine: GpuMachine, *words: str) -> tuple[int, dict[str, str]]:
    """Exit status, and the line of each subject."""
    done = machine.run(sys.executable, "-m", "tfmesos.cli.mesos_agent", "--doctor", "--port=0", *words)
    return done.returncode, {line[9:26].strip(): line for line in done.stdout.splitlines() if line}


@pytest.mark.parametrize("view", ["v1", "v2"])
def test_a_machine_with_all_that_gpus_need_is_fit(start_gpu_machine: StartGpuMachine, view: View) -> None:
    machine = start_gpu_machine(cards=2, mig={1: 2}, view=view)

    status, lines = examine(machine, GPUS)

    assert status == 0, lines
    assert lines["cgroups"] == f"ok       cgroups           version {view[1]}"
    for subject in ("cgroup devices", "isolators", "driver", "NVML", "nodes", "nvidia-smi", "driver volume"):
        assert lines[subject].startswith("ok "), lines[subject]
    card = machine.cards[0]
    assert lines["card 0"].split(maxsplit=3)[3] == (
        f"{card.name}, {card.memory_mb} MB, {card.uuid}, /dev/nvidia{card.minor}"
    )
    assert machine.cards[1].instances[1].uuid in lines["card 1"]
    assert lines["offer"].endswith("gpus:3")
    assert DRIVER_VERSION in lines["NVML"]
    assert machine.cgroups_left() == []


@pytest.mark.parametrize(
    ("without", "subject", "text"),
    [
        ("nvml", "NVML", "--nvidia_library"),
        ("nvidiactl", "nodes", "/dev/nvidiactl"),
    ],
)
def test_what_is_missing_is_told(start_gpu_machine: StartGpuMachine, without: str, subject: str, text: str) -> None:
    status, lines = examine(start_gpu_machine(without=[without]), GPUS)

    assert status == 1
    assert lines[subject].startswith("missing ")
    assert text in lines[subject]


def test_a_cdi_specification_is_looked_for(start_gpu_machine: StartGpuMachine) -> None:
    machine = start_gpu_machine(cards=2)
    status, lines = examine(machine, GPUS, "--nvidia_injection=cdi")
    assert status == 1
    assert lines["CDI"].startswith("missing "), lines["CDI"]

    nodes = [f"/dev/{card.node}" for card in machine.cards]
    devices = [{"name": node[-1], "containerEdits": {"deviceNodes": [{"path": node}]}} for node in nodes]
    specification = json.dumps({"cdiVersion": "0.6.0", "kind": "nvidia.com/gpu", "devices": devices})
    machine.run("sh", "-c", f"mkdir /run/cdi && printf %s '{specification}' > /run/cdi/nvidia.json")
    status, lines = examine(machine, GPUS, "--nvidia_injection=cdi")
    assert status == 0, lines
    assert lines["CDI"].startswith("ok ")


def test_the_node_that_an_agent_would_have_made_is_not_made(start_gpu_machine: StartGpuMachine) -> None:
    machine = start_gpu_machine(without=["uvm"])

    status, lines = examine(machine, GPUS)

    assert status == 0, lines
    assert "the agent has /dev/nvidia-uvm made by /usr/local/sbin/nvidia-modprobe" in lines["nodes"]
    assert machine.run("test", "-e", "/dev/nvidia-uvm").returncode == 1


def test_of_an_agent_that_only_counts_gpus_nothing_is_asked_that_it_does_not_use(
    start_gpu_machine: StartGpuMachine,
) -> None:
    status, lines = examine(start_gpu_machine(cards=2), "--isolation=posix/gpus")

    assert status == 0, lines
    assert lines["driver"].startswith("ok ")
    assert lines["offer"].endswith("gpus:2")
    assert "driver volume" not in lines


def test_nodes_that_tasks_cannot_open_are_told(start_gpu_machine: StartGpuMachine) -> None:
    machine = start_gpu_machine(cards=2)
    first, second = (card.node for card in machine.cards)
    machine.run("chmod", "600", f"/dev/{first}")
    machine.run("rm", f"/dev/{second}")

    status, lines = examine(machine, GPUS)

    assert status == 1
    assert f"`chmod 666 /dev/{first}`" in lines["card 0"]
    assert f"/dev/{second}: No such file or directory; `nvidia-modprobe" in lines["card 1"]


def test_of_cards_that_are_not_offered_nothing_is_needed(start_gpu_machine: StartGpuMachine) -> None:
    machine = start_gpu_machine(cards=2)
    machine.run("rm", f"/dev/{machine.cards[1].node}")

    status, lines = examine(machine, GPUS, "--nvidia_gpu_devices=0", "--resources=gpus:1")

    assert status == 0, lines
    assert lines["card 1"].startswith("absent ")


def test_flags_that_contradict_the_machine_are_told(start_gpu_machine: StartGpuMachine) -> None:
    status, lines = examine(start_gpu_machine(cards=2), GPUS, "--nvidia_gpu_devices=0,1,2", "--resources=gpus:3")

    assert status == 1
    assert "this machine has 2" in lines["offer"]


def test_where_no_gpu_would_be_offered_no_task_is_sent_to_one(start_gpu_machine: StartGpuMachine) -> None:
    machine = start_gpu_machine(cards=0)
    done = machine.run(sys.executable, "-m", "tfmesos.cli.mesos_agent", "--doctor", "--port=0", GPUS)

    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == (
        "Nothing is missing that --isolation=cgroups/devices,gpu/nvidia needs. But such an agent offers no GPUs."
    )
