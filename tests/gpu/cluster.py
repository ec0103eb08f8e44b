"""A master, and an agent on a fake GPU machine, as programs."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tests.chaos.conftest import new_mark
from tests.chaos.daemons import Daemon, kill_all
from tests.gpu_machine import GpuMachine
from tests.ports import free_port

ISOLATION = "cgroups/devices,gpu/nvidia"
GPU_RESOURCES = "--framework_capabilities=GPU_RESOURCES"


@dataclass(frozen=True)
class Executed:
    """What mesos-execute told."""

    status: int
    text: str

    @property
    def states(self) -> list[str]:
        """`TASK_FINISHED` for each status update."""
        prefix = "Received status update "
        return [line.split()[3] for line in self.text.splitlines() if line.startswith(prefix)]


class GpuCluster:
    """The agent can be killed and started again where it was; `master`: that of somebody else."""

    def __init__(self, machine: GpuMachine, *more: str, isolation: str = ISOLATION, master: str = "") -> None:
        self.machine = machine
        self.mark = new_mark()
        self.address = master or f"127.0.0.1:{free_port()}"
        self.agent_address = f"127.0.0.1:{free_port()}"
        self.master = None if master else build_master(self.address, self.directory, self.mark)
        self._flags = (isolation, more)
        self.agent = self._build_agent(*self._flags)

    @property
    def directory(self) -> Path:
        """Where the daemons have their files."""
        return self.machine.folder

    def start(self) -> None:
        if self.master is not None:
            self.master.start()
            self.master.expect(" listens on ")
        self.agent.start()
        self.agent.expect(" registered with ")

    def restart_agent(self, *more: str, isolation: str = "") -> None:
        """Start one on the directories of the one before, which has ended; these flags are added."""
        before, flags = self._flags
        self.agent = self._build_agent(isolation or before, (*flags, *more))
        self.agent.start()

    def stop(self) -> None:
        """By force, whatever is left."""
        kill_all(self.mark, *([self.master] if self.master is not None else []), self.agent)

    def execute(self, command: str, resources: str = "cpus:0.1;mem:32", *more: str) -> Executed:
        """Run one task by mesos-execute, to its end."""
        words = [f"--master={self.address}", "--name=test", f"--command={command}", f"--resources={resources}"]
        ended = subprocess.run(
            [sys.executable, "-m", "tfmesos.cli.mesos_execute", *words, GPU_RESOURCES, *more],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )
        return Executed(ended.returncode, ended.stdout)

    def outputs(self, name: str = "stdout") -> list[str]:
        """What the tasks have printed, in the order of their starts."""
        files = self.directory.glob(f"agent/slaves/latest/frameworks/*/executors/*/runs/latest/{name}")
        return [file.read_text() for file in sorted(files, key=lambda file: file.stat().st_mtime_ns)]

    def get(self, path: str) -> Any:
        """The JSON of an endpoint of the agent."""
        with urlopen(f"http://{self.agent_address}{path}", timeout=20) as answer:
            return json.load(answer)

    def containers(self) -> list[dict[str, Any]]:
        """All that run, by the agent's v1 API."""
        shown = {"show_nested": True, "show_standalone": True}
        call = json.dumps({"type": "GET_CONTAINERS", "get_containers": shown}).encode()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        with urlopen(Request(f"http://{self.agent_address}/api/v1", call, headers), timeout=20) as answer:
            return list(json.load(answer).get("get_containers", {}).get("containers", []))

    def held(self) -> Mapping[str, list[str]]:
        """The agent's book: container id → the UUIDs of the GPUs that it holds."""
        held = {}
        for container in self.containers():
            if gpus := container["container_status"].get("gpus"):
                held[container["container_id"]["value"]] = sorted(gpu["uuid"] for gpu in gpus)
        return held

    def pids(self) -> Mapping[str, int]:
        """Container id → the pid of its program: the one child of its supervisor."""
        found = {}
        for container in self.containers():
            supervisor = container["container_status"]["executor_pid"]
            (child, *_) = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
            found[container["container_id"]["value"]] = int(child)
        return found

    def node_of(self, card_uuid: str) -> str:
        """The card's node below /dev."""
        (node,) = [card.node for card in self.machine.cards if card.uuid == card_uuid]
        return node

    async def wait_output(self, path: str, lines: int) -> list[str]:
        """Of a file in the sandbox of the one executor, as soon as it has so many lines."""
        async with asyncio.timeout(20):
            while True:
                files = [*self.directory.glob(f"agent/slaves/latest/frameworks/*/executors/*/runs/latest/{path}")]
                found = files[0].read_text().splitlines() if files else []
                if len(found) >= lines:
                    return found
                await asyncio.sleep(0.02)  # the program lies outside this process

    def metric(self, name: str) -> float:
        return float(self.get("/metrics/snapshot")[name])

    def wait_no_cgroup(self, timeout_s: float = 10.0) -> list[Path]:
        """What is left below the root of containers when nothing is, or the time is over."""
        deadline = time.monotonic() + timeout_s
        while (left := self._cgroups_of_containers()) and time.monotonic() < deadline:
            time.sleep(0.02)  # they lie outside this process
        return left

    def _cgroups_of_containers(self) -> list[Path]:
        return [cgroup for cgroup in self.machine.cgroups_left() if cgroup.name != self.machine.cgroups_root]

    def _build_agent(self, isolation: str, more: tuple[str, ...]) -> Daemon:
        host, _, port = self.agent_address.partition(":")
        words = [
            f"--master={self.address}", f"--ip={host}", f"--port={port}", f"--work_dir={self.directory}/agent",
            f"--runtime_dir={self.directory}/run", f"--cgroups_root={self.machine.cgroups_root}",
            f"--isolation={isolation}", "--registration_backoff_factor=20ms",
            "--executor_reregistration_timeout=10secs",
        ]  # fmt: skip
        if not any(word.startswith("--resources=") for word in more):
            words.append("--resources=cpus:6;mem:4096;disk:1024;ports:[]")
        log = self.directory / "agent.log"
        return Daemon("mesos_agent", [*words, *more], log, self.mark, through=self.machine.command)


def build_master(address: str, directory: Path, mark: str) -> Daemon:
    """A master that is not started; its files are in the directory."""
    host, _, port = address.partition(":")
    words = [f"--ip={host}", f"--port={port}", f"--work_dir={directory}/master", "--allocation_interval=50ms"]
    return Daemon("mesos_master", words, directory / "master.log", mark)
