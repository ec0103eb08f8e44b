"""What every test shares: in continuous integration a skip is an error; a stock Apache Mesos master; a GPU machine;
registries and docker engines.

Elsewhere a test whose package, tool or privilege is missing skips with the reason.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import runpy
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

if TYPE_CHECKING:
    from tests.dockerd import Dockerd, StartDockerd
    from tests.gpu_machine import Driver, GpuMachine, StartGpuMachine
    from tests.registry import FakeRegistry, Registry, StartRegistry

SKIPS_ARE_ERRORS = os.environ.get("TFMESOS_SKIPS_ARE_ERRORS") == "1"

# Whatever the speed of the machine; in continuous integration the same examples each time, elsewhere ever new ones.
hypothesis.settings.register_profile(
    "anywhere",
    derandomize=bool(os.environ.get("CI")),
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("anywhere")


def _hand_down_no_ignored_signal() -> None:
    """A shell's `&` and nohup have signals ignored, and programs of ours that inherit this leave them ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)  # ignored here as before; what is executed gets the default


_hand_down_no_ignored_signal()


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if SKIPS_ARE_ERRORS and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"skipped where no skip is allowed: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse_skip(report)
    return report


STOCK_SCRIPT = Path(__file__).parent / "stock_mesos" / "stock_master.py"
STOCK_LIBRARIES = ("libsvn_delta-1.so.1", "libapr-1.so.0", "libsasl2.so.2")


class StockMaster:
    """A running stock Apache Mesos 1.11.0 master on loopback."""

    def __init__(self, port: int, process: subprocess.Popen[bytes], log: Path) -> None:
        self.port = port
        self.process = process
        self.log = log

    @property
    def address(self) -> str:
        """What `--master` takes."""
        return f"127.0.0.1:{self.port}"

    def get(self, path: str) -> Any:
        """The JSON of an endpoint."""
        with urllib.request.urlopen(f"http://{self.address}{path}", timeout=10) as answer:
            return json.load(answer)

    def post(self, path: str, call: object) -> Any:
        """The JSON answer to a JSON call."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        request = urllib.request.Request(f"http://{self.address}{path}", json.dumps(call).encode(), headers)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def stop(self) -> None:
        """Kill it and wait; may be called again."""
        self.process.kill()
        self.process.wait()


StartStockMaster = Callable[..., StockMaster]


def _missing_for_stock() -> str | None:
    if platform.machine() != "x86_64":
        return "the stock Apache Mesos master is a binary for x86-64"
    for program in ("gcc", "g++"):
        if shutil.which(program) is None:
            return f"the stock Apache Mesos master needs {program}"
    known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    for library in STOCK_LIBRARIES:
        if library not in known:
            return f"the stock Apache Mesos master needs {library} (packages libsvn1 libapr1 libsasl2-2)"
    return None


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _launch_stock(directory: Path, port: int, environment: Mapping[str, str]) -> StockMaster:
    log = directory / "log"
    command = [sys.executable, str(STOCK_SCRIPT), f"--port={port}", f"--work-dir={directory / 'work'}"]
    for name, value in environment.items():
        command += ["--env", f"{name}={value}"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, preexec_fn=_die_with_parent
        )
    return StockMaster(port, process, log)


def _wait_recovered(master: StockMaster) -> None:
    """The first preparation may take half a minute, a start takes a second."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if master.process.poll() is not None:
            lines = master.log.read_text(errors="replace").splitlines() or ["no output"]
            pytest.skip(f"the stock Apache Mesos master does not start: {lines[-1]}")
        try:
            master.post("/api/v1", {"type": "GET_HEALTH"})  # 503 until the master leads and has recovered its registry
        except (OSError, ValueError):
            time.sleep(0.05)
        else:
            return
    master.stop()
    pytest.skip("the stock Apache Mesos master does not answer within 120 s")


def _start_stock(directory: Path, environment: Mapping[str, str], port: int | None) -> StockMaster:
    from tests.ports import free_port  # this file works alone, too

    missing = _missing_for_stock()
    if missing is not None:
        pytest.skip(missing)
    master = _launch_stock(directory, port or free_port(), environment)
    _wait_recovered(master)
    return master


@pytest.fixture(scope="session")
def stock_folder() -> Path:
    """The folder with the stock module and its libraries, prepared."""
    missing = _missing_for_stock()
    if missing is not None:
        pytest.skip(missing)
    folder = Path.home() / ".cache" / "stock-mesos-1.11.0"
    runpy.run_path(str(STOCK_SCRIPT))["prepare"](folder)
    return folder


@pytest.fixture(scope="session")
def stock_master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StockMaster]:
    """One stock master for all tests that can share it."""
    master = _start_stock(tmp_path_factory.mktemp("stock-master"), {}, None)
    yield master
    master.stop()


@pytest.fixture
def start_stock_master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartStockMaster]:
    """Starts stock masters of the test's own: `start_stock_master(MESOS_AGENT_PING_TIMEOUT="1secs", port=…)`."""
    started: list[StockMaster] = []

    def start(*, port: int | None = None, **environment: str) -> StockMaster:
        master = _start_stock(tmp_path_factory.mktemp("stock-master"), environment, port)
        started.append(master)
        return master

    yield start
    for master in started:
        master.stop()


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk that is soon full."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    directory = tmp_path / "disk"
    directory.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", directory], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"cannot mount: {mounted.stderr!r}")
    yield directory
    subprocess.run(["umount", directory], check=True)


@pytest.fixture(scope="session")
def gpu_driver(tmp_path_factory: pytest.TempPathFactory) -> Driver:
    """The fake GPU driver, compiled."""
    from tests.gpu_machine import build_driver, missing_for_gpu_machine  # only where a test wants it

    missing = missing_for_gpu_machine()
    if missing is not None:
        pytest.skip(missing)
    return build_driver(tmp_path_factory.mktemp("gpu-driver"))


@pytest.fixture
def start_gpu_machine(gpu_driver: Driver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartGpuMachine]:
    """Starts fake GPU machines: `start_gpu_machine(cards=4, view="v2")`; what is left of them goes with the test."""
    from tests.gpu_machine import GpuMachine, missing_for_gpu_machine

    started: list[GpuMachine] = []

    def start(**options: Any) -> GpuMachine:
        missing = missing_for_gpu_machine(options.get("view", "v1"))
        if missing is not None:
            pytest.skip(missing)
        machine = GpuMachine(gpu_driver, tmp_path_factory.mktemp("gpus"), **options)
        started.append(machine)
        return machine

    yield start
    for machine in reversed(started):
        machine.close()


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """One plain registry for all tests; each takes repositories of its own names."""
    from tests.registry import Registry, missing_for_registry  # only where a test wants it

    missing = missing_for_registry()
    if missing is not None:
        pytest.skip(missing)
    running = Registry(tmp_path_factory.mktemp("registry"))
    yield running
    running.stop()


@pytest.fixture
def start_registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartRegistry]:
    """Starts registries of the test's own: `start_registry(has_tls=True, credentials=Credentials())`."""
    from tests.registry import Registry, missing_for_registry

    started: list[Registry] = []

    def start(**options: Any) -> Registry:
        missing = missing_for_registry(**options)
        if missing is not None:
            pytest.skip(missing)
        started.append(Registry(tmp_path_factory.mktemp("registry"), **options))
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture
def fake_registry() -> Iterator[FakeRegistry]:
    """A registry that does what a real one does on bad days."""
    from tests.registry import FakeRegistry

    fake = FakeRegistry()
    fake.start()
    yield fake
    fake.stop()


@pytest.fixture(scope="session")
def python_archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An image with Debian's Python and a shell, `python:3`, as a `docker save` archive; it is a second's work.

    Its folder may be a `--docker_registry`.
    """
    archive = tmp_path_factory.mktemp("python-image") / "python:3.tar"
    script = Path(__file__).parents[1] / "docker" / "offline_image.py"
    subprocess.run([sys.executable, script, "--tag=python:3", archive], check=True)
    yield archive
    archive.unlink()


@pytest.fixture(scope="session")
def dockerd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dockerd]:
    """One docker engine for all tests; each takes names of its own for images and containers."""
    from tests.dockerd import Dockerd, missing_for_dockerd

    missing = missing_for_dockerd()
    if missing is not None:
        pytest.skip(missing)
    engine = Dockerd(tmp_path_factory.mktemp("dockerd"))
    yield engine
    engine.stop()


@pytest.fixture
def start_dockerd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartDockerd]:
    """Starts docker engines of the test's own: `start_dockerd(prefix=machine.command)`."""
    from tests.dockerd import Dockerd, missing_for_dockerd

    started: list[Dockerd] = []

    def start(**options: Any) -> Dockerd:
        missing = missing_for_dockerd()
        if missing is not None:
            pytest.skip(missing)
        started.append(Dockerd(tmp_path_factory.mktemp("dockerd"), **options))
        return started[-1]

    yield start
    for engine in started:
        engine.stop()
