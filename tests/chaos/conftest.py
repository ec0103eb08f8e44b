"""Runs that are to be shot at."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos.traces import Traces, processes_with

StartRun = Callable[..., "Run"]

TREE = """
trap '' TERM
(setsid sh -c 'trap "" TERM; sleep 1000 & exec sleep 1000' &)
setsid sleep 1000 &
echo task is ready
"""
"""Deaf to SIGTERM, with a daemon and a child in another session: it takes SIGKILL, and finding them."""
TASKS = 3


def new_mark() -> str:
    """NAME=VALUE."""
    return f"TFMESOS_CHAOS={uuid.uuid4()}"


class Run:
    """One program with all that it starts, marked by a variable of its environment (`mark`: shared with another)."""

    def __init__(self, argv: list[str], directory: Path, mark: str) -> None:
        runtime, state = directory / "runtime", directory / "state"
        for path in (runtime, state):
            path.mkdir(exist_ok=True)
        name, _, value = mark.partition("=")
        self.traces = Traces(mark, [runtime, state])
        self.output = b""
        self.process = subprocess.Popen(
            argv,
            env={
                **os.environ,
                name: value,
                "XDG_RUNTIME_DIR": str(runtime),
                "XDG_STATE_HOME": str(state),
                "CUDA_VISIBLE_DEVICES": "",
            },
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    @property
    def mark(self) -> str:
        return self.traces.mark

    def expect(self, text: str, count: int = 1, timeout_s: float = 60.0) -> None:
        """Until it has printed `text` so often."""
        deadline = time.monotonic() + timeout_s
        while self.output.count(text.encode()) < count:
            assert self._read(deadline), f"no {text!r} in:\n{self.output.decode(errors='replace')}"

    def read_rest(self, timeout_s: float) -> str:
        """All that it and its children print until nobody can print any more."""
        deadline = time.monotonic() + timeout_s
        while self._read(deadline):
            pass
        return self.output.decode(errors="replace")

    def _read(self, deadline: float) -> bool:
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        if not select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
            return False
        data = os.read(descriptor, 65536)
        self.output += data
        return bool(data)

    def close(self) -> None:
        """By force, whatever is left."""
        for pid in list(processes_with(self.mark)):
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                continue
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.traces.close()


@pytest.fixture
def start_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartRun]:
    """Starts a program of ours: `start_run("tfrun", "-w", "1")`. Its directory has a short path, for unix sockets."""
    runs: list[Run] = []

    def start(program: str, *arguments: str, mark: str | None = None) -> Run:
        directory = tmp_path_factory.mktemp("chaos")
        argv = [sys.executable, *(["-c"] if program == "-c" else ["-m", f"tfmesos.cli.{program}"]), *arguments]
        run = Run(argv, directory, mark or new_mark())
        runs.append(run)
        return run

    yield start
    for run in runs:
        run.close()


def start_job(start_run: StartRun, seconds: int) -> Run:
    script = f"{TREE}sleep {seconds}"
    return start_run("tfrun", "-w", "2", "-s", "1", "--worker-logs", "*", "--", "sh", "-c", script)
