"""A master, and an agent that runs images, as programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from tests.cgroup_trees import cgroups_below, containers_below
from tests.chaos.conftest import new_mark
from tests.chaos.daemons import Daemon, kill_all
from tests.chaos.traces import mounts
from tests.dockerd import Dockerd
from tests.ports import free_port

ISOLATION = "filesystem/linux,docker/runtime,cgroups/devices,cgroups/pids"
PORTS = "ports:[22000-22900]"


@dataclass(frozen=True)
class Executed:
    """What a program said."""

    status: int
    text: str


@dataclass(frozen=True)
class Shelf:
    """Where agents find images, and keep them: shared by the tests, so that each image is unpacked once."""

    archives: Path
    """For `--docker_registry`: `repository:tag.tar` are `docker save` archives."""
    store: Path


class ImageCluster:
    """The agent can be killed and started again where it was; `master`: that of somebody else.

    With an engine the agent has the Docker containerizer, too. `through`: the command that runs the agent elsewhere.
    """

    def __init__(
        self,
        directory: Path,
        shelf: Shelf,
        *more: str,
        master: str = "",
        engine: Dockerd | None = None,
        through: Callable[..., list[str]] | None = None,
    ) -> None:
        self.directory = directory
        self.engine = engine
        self.mark = new_mark()
        self.address = master or f"127.0.0.1:{free_port()}"
        self.agent_address = f"127.0.0.1:{free_port()}"
        self.cgroups_root = f"test-{uuid.uuid4().hex[:12]}"
        self._mounts = mounts()
        self.master = None if master else self._build_master()
        self.agent = self._build_agent(shelf, more, through)

    def start(self) -> None:
        if self.master is not None:
            self.master.start()
            self.master.expect(" listens on ")
        self.start_agent()

    def start_agent(self) -> None:
        """Also again, where it was."""
        self.agent.start()
        self.agent.expect(" registered with ")

    def stop(self) -> None:
        """By force, whatever is left."""
        kill_all(self.mark, *([self.master] if self.master is not None else []), self.agent)
        deadline = time.monotonic() + 10
        while (left := cgroups_below(self.cgroups_root)) and time.monotonic() < deadline:
            for cgroup in reversed(left):
                with suppress(OSError):  # a process of it is still there, or it has gone
                    for pid in (cgroup / "cgroup.procs").read_text().split():
                        os.kill(int(pid), 9)
                    cgroup.rmdir()
            time.sleep(0.01)

    def execute(self, command: str, *more: str, name: str = "test", resources: str = "cpus:0.1;mem:64") -> Executed:
        """Run one task by mesos-execute, to its end."""
        return self.say(f"--name={name}", f"--command={command}", f"--resources={resources}", *more)

    def say(self, *words: str) -> Executed:
        """Run mesos-execute with these words, to its end."""
        return run_program("mesos_execute", f"--master={self.address}", *words)

    def outputs(self, name: str = "stdout") -> list[str]:
        """What the tasks have printed, in the order of their ends."""
        files = self.directory.glob(f"agent/slaves/latest/frameworks/*/executors/*/runs/latest/{name}")
        return [file.read_text() for file in sorted(files, key=lambda file: file.stat().st_mtime_ns)]

    def get(self, path: str) -> Any:
        """The JSON of an endpoint of the agent."""
        with urlopen(f"http://{self.agent_address}{path}", timeout=20) as answer:
            return json.load(answer)

    def wait_nothing_left(self, timeout_s: float = 20.0) -> list[str]:
        """What is left of containers when nothing is, or the time is over."""
        deadline = time.monotonic() + timeout_s
        while (left := self.left()) and time.monotonic() < deadline:
            time.sleep(0.05)  # it lies outside this process
        return left

    def left(self) -> list[str]:
        """Cgroups, directories of containers, mounts and docker containers of this agent: a text each."""
        directories = (
            *self.directory.glob("agent/provisioner/containers/*"),
            *self.directory.glob("run/containers/*"),
            *self.directory.glob("run/oci/*/*"),
        )
        here = str(self.directory)
        return [
            *(f"cgroup {path}" for path in containers_below(self.cgroups_root)),
            *(f"directory {path}" for path in directories),
            *(f"mount {mount}" for mount in mounts() - self._mounts if here in mount or "/store/" in mount),
            *(f"docker container {name}" for name in self.docker_names()),
        ]

    def docker_names(self) -> list[str]:
        """Of the containers that run in the engine for this agent: those with its sandboxes."""
        if self.engine is None:
            return []
        format_ = "--format={{.Names}} {{.Mounts}}"
        shown = self.engine.run("ps", "--no-trunc", format_, "--filter=name=mesos-").splitlines()
        return [line.split()[0] for line in shown if str(self.directory) in line]

    def _build_master(self) -> Daemon:
        host, _, port = self.address.partition(":")
        words = [f"--ip={host}", f"--port={port}", f"--work_dir={self.directory}/master", "--allocation_interval=50ms"]
        return Daemon("mesos_master", words, self.directory / "master.log", self.mark)

    def _build_agent(self, shelf: Shelf, more: tuple[str, ...], through: Callable[..., list[str]] | None) -> Daemon:
        host, _, port = self.agent_address.partition(":")
        words = [
            f"--master={self.address}", f"--ip={host}", f"--port={port}", f"--work_dir={self.directory}/agent",
            f"--runtime_dir={self.directory}/run", f"--cgroups_root={self.cgroups_root}",
            "--image_providers=docker", f"--docker_store_dir={shelf.store}",
            "--registration_backoff_factor=20ms", "--executor_reregistration_timeout=10secs",
        ]  # fmt: skip
        if self.engine is not None:
            words += ["--containerizers=docker,mesos", f"--docker_socket={self.engine.socket}"]
        usual = {
            "isolation": ISOLATION,
            "resources": f"cpus:6;mem:8192;disk:1024;{PORTS}",
            "docker_registry": str(shelf.archives),
        }
        for name, value in usual.items():
            if not any(word.startswith(f"--{name}=") for word in more):
                words.append(f"--{name}={value}")
        return Daemon("mesos_agent", [*words, *more], self.directory / "agent.log", self.mark, through)


def run_program(module: str, *words: str, timeout_s: float = 60.0, **environment: str) -> Executed:
    """One of ours, to its end."""
    ended = subprocess.run(
        [sys.executable, "-m", f"tfmesos.cli.{module}", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout_s,
        env={**os.environ, **environment},
    )
    return Executed(ended.returncode, ended.stdout)
