"""The three places where the examples run: this machine alone, our daemons, a stock master with our agent."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.ports import free_port

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
RESOURCES = "cpus:8;mem:16384;disk:1024;ports:[31000-32000]"
START_S = 60.0


@dataclass(frozen=True)
class Place:
    """Where a job runs; `master` is None for the embedded cluster."""

    name: str
    master: str | None


def clean_environment() -> dict[str, str]:
    """This environment with our commands first on the path and without any setting of Mesos."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MESOS_", "LIBPROCESS_"))}
    return {**kept, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}", "TF_CPP_MIN_LOG_LEVEL": "3"}


@contextlib.contextmanager
def daemon(command: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """One of our programs in the background; ended by SIGTERM, which must work."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=clean_environment()
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        finally:
            process.kill()


def wait_until_answered(url: str, text: bytes, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        assert process.poll() is None, f"it ended: {log.read_text(errors='replace')}"
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5) as reply:
            if text in reply.read().replace(b" ", b""):
                return
        time.sleep(0.05)
    pytest.fail(f"{url} does not show {text!r} after {START_S:g} s: {log.read_text(errors='replace')}")


@contextlib.contextmanager
def our_agent(master: str, directory: Path) -> Iterator[None]:
    """Our agent, registered at that master."""
    log = directory / "agent.log"
    command = [str(BIN / "mesos-agent"), f"--master={master}", "--ip=127.0.0.1", f"--port={free_port()}"]
    command += [f"--work_dir={directory}/agent", f"--resources={RESOURCES}"]
    with daemon(command, log) as process:
        wait_until_answered(f"http://{master}/slaves", b'"active":true', process, log)
        yield


@pytest.fixture(scope="session")
def our_daemons(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of our master as a daemon, with our agent registered."""
    directory = tmp_path_factory.mktemp("daemons")
    log, master = directory / "master.log", f"127.0.0.1:{free_port()}"
    command = [str(BIN / "mesos-master"), "--ip=127.0.0.1", f"--port={master.rpartition(':')[2]}"]
    with daemon([*command, f"--work_dir={directory}/master"], log) as process:
        wait_until_answered(f"http://{master}/version", b'"version"', process, log)
        with our_agent(master, directory):
            yield master


@pytest.fixture(scope="session")
def stock_with_our_agent(stock_master: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a stock Apache Mesos master, with our agent registered."""
    with our_agent(stock_master.address, tmp_path_factory.mktemp("stock")):
        yield stock_master.address


@pytest.fixture(
    params=["embedded", "our_daemons", pytest.param("stock_with_our_agent", marks=pytest.mark.stock)], scope="session"
)
def place(request: pytest.FixtureRequest) -> Place:
    master = None if request.param == "embedded" else request.getfixturevalue(request.param)
    return Place(request.param, master)


RunExample = Callable[..., str]


@pytest.fixture
def run_example(request: pytest.FixtureRequest) -> RunExample:
    """Runs a command from the project's root; returns what it printed. No process of it may be left."""
    mark = f"EXAMPLE_TEST_MARK={request.node.name}-{os.getpid()}"

    def run(*command: str, master: str | None = None) -> str:
        environment = {**clean_environment(), **({"MESOS_MASTER": master} if master else {})}
        environment["EXAMPLE_TEST_MARK"] = mark.partition("=")[2]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert processes_with(mark) == []
        return done.stdout

    return run


def processes_with(mark: str) -> list[str]:
    """The command lines of all living processes that have this in their environment."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (directory / "environ").read_bytes().split(b"\0"):
                found.append((directory / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found
