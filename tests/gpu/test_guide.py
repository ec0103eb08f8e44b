"""The minimal cluster, as docs/gpu.md has it, typed line by line."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.conftest import new_mark
from tests.chaos.traces import processes_with
from tests.gpu_machine import GpuMachine, StartGpuMachine, View

PAGE = Path(__file__).parents[2] / "docs" / "gpu.md"
MARK = "<!-- the minimal cluster: tests/gpu/test_guide.py types these lines -->"


def documented_commands() -> list[list[str]]:
    """The words of each line of the block that is marked."""
    _, found, rest = PAGE.read_text().partition(MARK)
    assert found, f"{PAGE} has no {MARK}"
    block = re.match(r"\s*\n((?: {4}.*\n|\n)+)", rest)
    assert block is not None, f"{PAGE} has no indented block below {MARK}"
    lines = block[1].replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


class Terminal:
    """Types commands on the machine, as its user would."""

    def __init__(self, machine: GpuMachine) -> None:
        self._machine = machine
        self._mark = new_mark()
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, words: list[str], says: str) -> None:
        """Until it has said this."""
        log = self._machine.folder / f"{words[0]}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                self._machine.command(*words), env=self._environment, stdout=output, stderr=output
            )
        self._started.append(process)
        deadline = time.monotonic() + 30
        while says not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.02)  # it lies outside this process

    def run(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._machine.command(*words), env=self._environment, capture_output=True, text=True, timeout=60
        )

    def close(self) -> None:
        """End all that was started."""
        for pid in list(processes_with(self._mark)):
            os.kill(pid, signal.SIGKILL)
        for process in self._started:
            process.wait()

    @property
    def _environment(self) -> dict[str, str]:
        name, _, value = self._mark.partition("=")
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "MESOS_CGROUPS_ROOT": self._machine.cgroups_root, name: value}


@pytest.fixture
def machine(view: View, start_gpu_machine: StartGpuMachine) -> GpuMachine:
    return start_gpu_machine(cards=2, view=view, has_network=False)


@pytest.fixture
def terminal(machine: GpuMachine) -> Iterator[Terminal]:
    terminal = Terminal(machine)
    yield terminal
    terminal.close()


def test_the_minimal_cluster_shows_one_gpu(machine: GpuMachine, terminal: Terminal) -> None:
    master, agent, execute = documented_commands()
    assert [words[0] for words in (master, agent, execute)] == ["mesos-master", "mesos-agent", "mesos-execute"]

    terminal.start(master, says=" listens on ")
    terminal.start(agent, says=" registered with ")
    executed = terminal.run(execute)

    assert executed.returncode == 0, executed.stdout + executed.stderr
    assert "TASK_FINISHED" in executed.stdout
    assert executed.stderr == "--resources has no cpus and mem: cpus:0.1;mem:128 added.\n"
    (shown,) = (machine.folder / "var-lib").glob("mesos/**/runs/latest/stdout")
    assert shown.read_text().count(machine.cards[0].name) == 1
