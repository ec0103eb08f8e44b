"""What pages of the documentation have people type, and a terminal to type it in."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from tests.chaos.conftest import new_mark
from tests.chaos.traces import processes_with
from tests.gpu_machine import GpuMachine

DOCS = Path(__file__).parents[1] / "docs"


def documented_lines(page: str, name: str) -> list[str]:
    """The lines of the indented block below the mark of this name, continued ones joined."""
    _, found, rest = (DOCS / page).read_text().partition(f"<!-- {name}: ")
    assert found, f"docs/{page} has no mark for {name}"
    block = re.match(r".*-->\s*\n((?: {4}.*\n|\n)+)", rest)
    assert block is not None, f"docs/{page} has no indented block below the mark for {name}"
    return [line.strip() for line in block[1].replace("\\\n", " ").splitlines() if line.strip()]


def documented_commands(page: str, name: str) -> list[list[str]]:
    """The words of each line."""
    return [shlex.split(line, comments=True) for line in documented_lines(page, name)]


class Terminal:
    """Types commands on the machine, as its user would; `environment`: what is set there besides."""

    def __init__(self, machine: GpuMachine, environment: Mapping[str, str] | None = None) -> None:
        self._machine = machine
        self._mark = new_mark()
        self._more = environment or {}
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
        """To its end."""
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
        more = {"PATH": path, "MESOS_CGROUPS_ROOT": self._machine.cgroups_root, name: value}
        return {**os.environ, **more, **self._more}
