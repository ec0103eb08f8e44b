"""A master and an agent as programs on fixed addresses, to be killed and started again on the same directories."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

from tests.cgroup_trees import cgroups_below
from tests.chaos.traces import processes_with
from tests.ports import free_port


class Daemon:
    """A program of ours that is started again and again. `through`: the command that runs one somewhere else."""

    def __init__(
        self, module: str, arguments: list[str], log: Path, mark: str, through: Callable[..., list[str]] | None = None
    ) -> None:
        argv = [sys.executable, "-m", f"tfmesos.cli.{module}", *arguments]
        self._argv = through(*argv) if through else argv
        self._log = log
        self._mark = mark
        self._read_from = 0
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        name, _, value = self._mark.partition("=")
        self._read_from = self._log.stat().st_size if self._log.exists() else 0
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._argv,
                env={**os.environ, name: value},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self, number: int = signal.SIGKILL) -> int:
        """Send it a signal and wait for its end; its exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(60)

    def log(self) -> str:
        """What it has said since its last start."""
        with self._log.open("rb") as log:
            log.seek(self._read_from)
            return log.read().decode(errors="replace")

    def expect(self, text: str, timeout_s: float = 30.0) -> None:
        """Until it has said this since its last start."""
        assert self.process is not None
        deadline = time.monotonic() + timeout_s
        while text not in self.log():
            assert self.process.poll() is None, f"it ended:\n{self.log()}"
            assert time.monotonic() < deadline, f"no {text!r} in:\n{self.log()}"
            time.sleep(0.02)  # what is waited for lies outside this process


def kill_all(mark: str, *daemons: Daemon) -> None:
    """End whatever bears the mark, by force; then these are waited for."""
    for pid in list(processes_with(mark)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for daemon in daemons:
        if daemon.process is not None:
            daemon.process.wait()


class Cluster:
    """One master and one agent."""

    def __init__(self, directory: Path, mark: str) -> None:
        self.mark = mark
        master_port, agent_port = free_port(), free_port()
        self.address = f"127.0.0.1:{master_port}"
        self._agent_address = f"127.0.0.1:{agent_port}"
        self._cgroups_root = f"test-{uuid.uuid4().hex[:12]}"
        self.master = Daemon(
            "mesos_master",
            [
                "--ip=127.0.0.1", f"--port={master_port}", f"--work_dir={directory}/master",
                "--allocation_interval=100ms",
            ],
            directory / "master.log",
            mark,
        )  # fmt: skip
        self.agent = Daemon(
            "mesos_agent",
            [
                f"--master={self.address}", "--ip=127.0.0.1", f"--port={agent_port}", f"--work_dir={directory}/agent",
                f"--runtime_dir={directory}/run", "--resources=cpus:6;mem:4096;disk:1024;ports:[]",
                "--registration_backoff_factor=20ms", "--executor_reregistration_timeout=10secs",
                f"--cgroups_root={self._cgroups_root}",
            ],
            directory / "agent.log",
            mark,
        )  # fmt: skip

    def start(self) -> None:
        self.master.start()
        self.master.expect(" listens on ")
        self.agent.start()
        self.agent.expect(" registered with ")

    def stop(self) -> None:
        """By force, whatever is left."""
        kill_all(self.mark, self.master, self.agent)
        self._remove_cgroups()

    def _remove_cgroups(self) -> None:
        """What those who were killed cannot remove any more."""
        deadline = time.monotonic() + 10
        while left := cgroups_below(self._cgroups_root):
            for path in reversed(left):
                with suppress(OSError):
                    path.rmdir()
            assert time.monotonic() < deadline, f"left: {left}"
            time.sleep(0.01)  # the last processes are on their way out

    def wait_no_framework(self, timeout_s: float) -> None:
        """Until the agent has nothing of any framework: it has heard of the end of all."""
        deadline = time.monotonic() + timeout_s
        while True:
            with urlopen(f"http://{self._agent_address}/state", timeout=timeout_s) as answer:
                frameworks = json.load(answer)["frameworks"]
            if not frameworks:
                return
            assert time.monotonic() < deadline, f"left: {frameworks}"
            time.sleep(0.05)  # it lies outside this process

    def wait_no_process(self, timeout_s: float) -> list[str]:
        """What still runs when nothing does or the time is over; the two daemons themselves do not count."""
        own = {daemon.process.pid for daemon in (self.master, self.agent) if daemon.process is not None}
        deadline = time.monotonic() + timeout_s
        while (left := [pid for pid in processes_with(self.mark) if pid not in own]) and time.monotonic() < deadline:
            time.sleep(0.05)
        return [f"{pid} {Path(f'/proc/{pid}/cmdline').read_bytes()!r}" for pid in left]
