"""The minimal cluster, as docs/gpu.md has it, typed line by line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gpu_machine import GpuMachine, StartGpuMachine, View
from tests.guides import Terminal, documented_commands


@pytest.fixture
def machine(view: View, start_gpu_machine: StartGpuMachine) -> GpuMachine:
    return start_gpu_machine(cards=2, view=view, has_network=False)


@pytest.fixture
def terminal(machine: GpuMachine) -> Iterator[Terminal]:
    terminal = Terminal(machine)
    yield terminal
    terminal.close()


def test_the_minimal_cluster_shows_one_gpu(machine: GpuMachine, terminal: Terminal) -> None:
    master, agent, execute = documented_commands("gpu.md", "the minimal cluster")
    assert [words[0] for words in (master, agent, execute)] == ["mesos-master", "mesos-agent", "mesos-execute"]

    terminal.start(master, says=" listens on ")
    terminal.start(agent, says=" registered with ")
    executed = terminal.run(execute)

    assert executed.returncode == 0, executed.stdout + executed.stderr
    assert "TASK_FINISHED" in executed.stdout
    assert executed.stderr == "--resources has no cpus and mem: cpus:0.1;mem:128 added.\n"
    (shown,) = (machine.folder / "var-lib").glob("mesos/**/runs/latest/stdout")
    assert shown.read_text().count(machine.cards[0].name) == 1
