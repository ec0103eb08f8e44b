"""A master and an agent for a measurement, as daemons on loopback."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
STOCK_MASTER = ROOT / "tests" / "stock_mesos" / "stock_master.py"
RESOURCES = "cpus:16;mem:40960;disk:10240;ports:[31000-32000]"
START_S = 60.0
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, kw_only=True)
class Daemons:
    """A running pair. `processes` are the two programs; what they start is found below them."""

    master: str
    agent: str
    processes: tuple[subprocess.Popen[bytes], ...]


def program(name: str) -> str:
    """The path of one of our commands in the environment that runs this measurement."""
    return str(BIN / name)


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


@contextlib.contextmanager
def running(
    *,
    stock_master: bool = False,
    with_agent: bool = True,
    resources: str = RESOURCES,
    agent_flags: Sequence[str] = (),
    agent_through: Callable[..., list[str]] | None = None,
) -> Iterator[Daemons]:
    """A master, ours or a stock one, with our agent (if it is wanted) registered; both are ended afterwards.

    `agent_through`: the command that runs a command somewhere else.
    """
    directory = tempfile.mkdtemp(prefix="tfmesos-bench-")
    master, agent = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    processes: list[subprocess.Popen[bytes]] = []
    try:
        processes.append(_start(_master_command(master, directory, stock_master), directory, "master"))
        wait_for(f"http://{master}/health", processes[-1])
        command = [program("mesos-agent"), f"--master={master}", "--ip=127.0.0.1", f"--port={agent.split(':')[1]}"]
        command += [f"--work_dir={directory}/agent", f"--resources={resources}", *agent_flags]
        if agent_through is not None:
            command = agent_through(*command)
        if with_agent:
            processes.append(_start(command, directory, "agent"))
            wait_for(f"http://{master}/slaves", processes[-1], contains=b'"active":true')
        yield Daemons(master=master, agent=agent, processes=tuple(processes))
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()
        shutil.rmtree(directory, ignore_errors=True)


def descendants(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{parent}/task").iterdir():
                found += [int(child) for child in (thread / "children").read_text().split()]
    return found


def cpu_s(pid: int) -> float:
    """Seconds that a process and those of its children that have ended have computed."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS_PER_S


def _master_command(address: str, directory: str, stock: bool) -> Sequence[str]:
    port = address.split(":")[1]
    if stock:
        return [sys.executable, str(STOCK_MASTER), "--port", port, "--work-dir", f"{directory}/master"]
    return [program("mesos-master"), "--ip=127.0.0.1", f"--port={port}", f"--work_dir={directory}/master"]


def _start(command: Sequence[str], directory: str, name: str) -> subprocess.Popen[bytes]:
    with open(f"{directory}/{name}.log", "wb") as log:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=clean_environment())


def clean_environment() -> dict[str, str]:
    """This process' environment without settings of Mesos and with our commands first on the path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MESOS_", "LIBPROCESS_"))}
    return {**kept, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}


def wait_for(url: str, process: subprocess.Popen[bytes], contains: bytes = b"") -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"{process.args!r} ended with status {process.returncode}")
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5) as reply:
            if contains in reply.read():
                return
        time.sleep(0.05)
    raise SystemExit(f"{url} is not ready after {START_S:g} s")
