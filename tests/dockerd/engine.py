"""A real dockerd that touches nothing of the machine but a bridge and cgroups of its own."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from random import SystemRandom

from tests.cgroup_trees import cgroups_below
from tests.images import Image, saved_v1_archive

_PROGRAMS = ("dockerd", "docker", "ip", "unshare")


def missing_for_dockerd() -> str | None:
    """Why there can be no engine here."""
    if os.geteuid() != 0:
        return "dockerd needs root"
    missing = [program for program in _PROGRAMS if shutil.which(program) is None]
    return f"dockerd in tests needs {', '.join(missing)}" if missing else None


def _as_it_is(*argv: str) -> list[str]:
    return list(argv)


class Dockerd:
    """It runs until `stop`; `kill` and `start` may come between.

    Its mounts are in a namespace of its own. `prefix` turns an argv into one that runs elsewhere, as
    `GpuMachine.command` does. `options` are more of dockerd's.
    """

    def __init__(
        self, folder: Path, *, prefix: Callable[..., list[str]] = _as_it_is, options: Sequence[str] = ()
    ) -> None:
        mark = uuid.uuid4().hex[:8]
        self.folder = folder
        self.socket = folder / "socket"
        """For `--docker_socket`."""
        self.cgroup_parent = f"test-docker-{mark}"
        """Below it are the cgroups of all containers, in every hierarchy."""
        self._bridge = f"tfm-{mark}"
        self._prefix, self._options = prefix, tuple(options)
        self._process: subprocess.Popen[bytes] | None = None
        _make_bridge(self._bridge)
        self.start()

    @property
    def log(self) -> Path:
        """Of all its starts."""
        return self.folder / "log"

    @property
    def pid(self) -> int:
        """Of the running engine."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Again, after `kill`; returns when it answers. It ends with the thread that started it."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                ["unshare", "--mount", "--propagation=slave", "--", *self._prefix("dockerd", *self._arguments())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=_end_with_parent,
            )
        self._wait_ready(self._process)

    def kill(self) -> None:
        """-9, and wait; its containerd goes with it."""
        pid_file = self.folder / "exec" / "containerd" / "containerd.pid"
        containerd = int(pid_file.read_text())
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        while not _has_ended(containerd):
            time.sleep(0.01)
        pid_file.unlink(missing_ok=True)  # another start takes a zombie for one that runs, and not each init reaps soon

    def command(self, *arguments: str | Path) -> list[str]:
        """The client's, for this engine."""
        return ["docker", "-H", f"unix://{self.socket}", *map(str, arguments)]

    def run(self, *arguments: str | Path) -> str:
        """Run the client to its end: all that it prints, if it succeeds."""
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"docker {' '.join(map(str, arguments))}: {done.stderr}"
        return done.stdout

    def load(self, image: Image, reference: str) -> None:
        """`repository:tag`."""
        archive = saved_v1_archive(self.folder / f"{uuid.uuid4().hex}.tar", image, reference)
        self.run("load", "--input", archive)
        archive.unlink()

    def containers(self, *options: str) -> list[str]:
        """The ids of all; `docker ps` takes `options`, such as `--filter=name=…`."""
        return self.run("ps", "--all", "--quiet", "--no-trunc", *options).split()

    def stop(self) -> None:
        """With all containers; nothing is left. May be called again."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            self._remove_containers()
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._end_shims()
        self._remove_cgroups()
        subprocess.run(["ip", "link", "delete", self._bridge], check=True)
        shutil.rmtree(self.folder / "data")  # much, and of no use to who looks for a fault

    def _remove_containers(self) -> None:
        """An agent may be removing some just now, which the engine calls an error."""
        deadline = time.monotonic() + 20
        while (left := self.containers()) and time.monotonic() < deadline:
            subprocess.run(self.command("rm", "--force", "--volumes", *left), capture_output=True, check=False)
        assert not left, f"containers that cannot be removed: {left}"

    def _arguments(self) -> list[str]:
        return [
            f"--data-root={self.folder / 'data'}",
            f"--exec-root={self.folder / 'exec'}",
            f"--pidfile={self.folder / 'pid'}",
            f"--host=unix://{self.socket}",
            f"--bridge={self._bridge}",
            f"--cgroup-parent=/{self.cgroup_parent}",
            "--exec-opt=native.cgroupdriver=cgroupfs",
            "--iptables=false",
            "--ip6tables=false",
            "--ip-forward=false",
            *self._options,
        ]

    def _wait_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            if subprocess.run(self.command("version"), capture_output=True).returncode == 0:
                return
            time.sleep(0.05)
        raise TimeoutError(f"dockerd does not answer: {self.log.read_text(errors='replace')[-2000:]}")

    def _end_shims(self) -> None:
        """Those of containers that an engine before has not seen the end of: it was killed."""
        socket = f"{self.folder}/exec/containerd/containerd.sock".encode()
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has gone
                if socket in (process / "cmdline").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)

    def _remove_cgroups(self) -> None:
        deadline = time.monotonic() + 10
        while (left := cgroups_below(self.cgroup_parent)) and time.monotonic() < deadline:
            for cgroup in reversed(left):
                with suppress(OSError):  # a process of it is still there, or it has gone
                    for pid in (cgroup / "cgroup.procs").read_text().split():
                        os.kill(int(pid), signal.SIGKILL)
                    cgroup.rmdir()


def _has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def _make_bridge(name: str) -> None:
    """On a network that nobody has."""
    subprocess.run(["ip", "link", "add", "name", name, "type", "bridge"], check=True)
    taken = subprocess.run(["ip", "-4", "-o", "address"], check=True, capture_output=True, text=True).stdout
    networks = [f"10.213.{number}" for number in range(256) if f" 10.213.{number}." not in taken]
    network = SystemRandom().choice(networks)
    subprocess.run(["ip", "address", "add", f"{network}.1/24", "dev", name], check=True)
    subprocess.run(["ip", "link", "set", name, "up"], check=True)


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # so that it ends its containers, too
