"""A private mount namespace that looks like a machine with GPUs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal, Self

from tests.gpu_machine.cards import CARD_MAJOR, DRIVER_VERSION, Description, FakeCard, build_cards, caps_files
from tests.gpu_machine.compiled import Driver

View = Literal["v1", "v2"]
Part = Literal["nvml", "smi", "modprobe", "nvidiactl", "uvm", "uvm-tools"]

_BASE_NODES = (
    "null 1 3", "zero 1 5", "full 1 7", "random 1 8", "urandom 1 9", "kmsg 1 11", "tty 5 0", "console 5 1", "ptmx 5 2",
    "tty0 4 0", "tty1 4 1", "net/tun 10 200",
)  # fmt: skip
_LOOPBACK_UP = """
import fcntl, socket, struct
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP))
"""
_ENTER = Path(__file__).parent / "enter.sh"


def missing_for_gpu_machine(view: View = "v1") -> str | None:
    """Why there can be no fake GPU machine here."""
    if os.geteuid() != 0:
        return "a fake GPU machine needs root"
    for program in ("gcc", "unshare", "nsenter", "mount"):
        if shutil.which(program) is None:
            return f"a fake GPU machine needs {program}"
    if CARD_MAJOR in _driven_majors().values():
        return "a real NVIDIA driver stands behind the nodes of a fake GPU machine"
    if view == "v1" and _v1_devices() is None:
        return "there is no cgroup v1 hierarchy with devices here"
    return None


class GpuMachine:
    """Run programs on it by `command`; it lasts until `close`, over all of them.

    It has a /dev, /proc/driver, /proc/devices, /run and /var/lib of its own; the pids are those of the machine around
    it, and so is the network unless `has_network` is false: then it has a loopback of its own, with all ports free.
    """

    def __init__(
        self,
        driver: Driver,
        folder: Path,
        *,
        cards: int = 2,
        mig: Mapping[int, int] | None = None,
        view: View = "v1",
        without: Collection[Part] = (),
        has_network: bool = True,
    ) -> None:
        self.view = view
        self.folder = folder
        self.driver = driver
        self.cgroups_root = f"test-{uuid.uuid4().hex[:12]}"
        """For `--cgroups_root`: whatever is below it is removed by `close`."""
        self._without = frozenset(without)
        self._has_network = has_network
        self._description = Description(cards=build_cards(cards, mig or {}))
        self.uvm_major, self.caps_major = _free_majors(2)
        self._write_files()
        self._hugetlb_before = "hugetlb" in _subtree_control()
        self._keeper = self._enter()
        if not has_network:
            self.run(sys.executable, "-I", "-S", "-c", _LOOPBACK_UP)

    @property
    def cards(self) -> tuple[FakeCard, ...]:
        """In the order of their indices."""
        return self._description.cards

    def command(self, *argv: str | Path) -> list[str]:
        """What runs `argv` on it: the process that is started becomes `argv`, its pid stays."""
        namespaces = [f"--mount=/proc/{self._keeper.pid}/ns/mnt"]
        if not self._has_network:
            namespaces.append(f"--net=/proc/{self._keeper.pid}/ns/net")
        return ["nsenter", *namespaces, f"--wdns={self.folder}", "--", *map(str, argv)]

    def run(self, *argv: str | Path, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run it to its end, with all that it prints."""
        return subprocess.run(
            self.command(*argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            env={**os.environ, **(environment or {})},
        )

    def opens(self, pid: int | None = None) -> frozenset[str]:
        """The nodes below /dev that open for a process in the cgroup of `pid`; without one, for the machine's own.

        ProcessLookupError: there is no such process, or no cgroup of it, any more.
        """
        arguments = [] if pid is None else [self._procs_file(pid)]
        tried = self.run(self.driver.try_nodes, *arguments)
        if tried.returncode != 0:
            raise ProcessLookupError(tried.stdout)
        results = dict(line.split() for line in tried.stdout.splitlines())
        return frozenset(name for name, result in results.items() if result in ("opened", "ENXIO"))

    def cards_open(self, pid: int | None = None) -> frozenset[str]:
        """`opens`, of the cards and MIG instances alone."""
        common = {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}
        return self.opens(pid) - common

    def describe(self, change: Description) -> None:
        """What the driver tells from now on; nodes stay."""
        self._description = change
        target = self.folder / "driver-files" / "nvidia" / "machine"
        target.write_text(change.text())

    def fail(self, **codes: int) -> None:
        """Let functions of NVML answer these codes: `fail(nvmlDeviceGetCount=999)`, `fail(nvmlInit=9)`."""
        self.describe(replace(self._description, fails=codes))

    def use(self, *processes: tuple[int, int, int]) -> None:
        """Card index, pid, MB: what runs on the cards, for NVML."""
        self.describe(replace(self._description, processes=processes))

    def cgroups_left(self) -> list[Path]:
        """All cgroups below `cgroups_root`, deepest first."""
        roots = [mount / self.cgroups_root for mount in _cgroup_mounts()]
        return [Path(found) for root in roots for found, _, _ in os.walk(root, topdown=False)]

    def close(self) -> None:
        """Remove the cgroups with all that runs in them, and the namespace. May be called again."""
        self._remove_cgroups()
        if self._keeper.poll() is None and self.view == "v2" and not self._hugetlb_before:
            self.run("sh", "-c", "echo -hugetlb > /sys/fs/cgroup/cgroup.subtree_control")
        assert self._keeper.stdin is not None
        assert self._keeper.stdout is not None
        self._keeper.stdin.close()
        self._keeper.stdout.close()
        self._keeper.wait(10)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _remove_cgroups(self) -> None:
        deadline = time.monotonic() + 10
        while (left := self.cgroups_left()) and time.monotonic() < deadline:
            for cgroup in left:
                _remove(cgroup)
            time.sleep(0.01)  # the processes lie outside this one

    def _enter(self) -> subprocess.Popen[str]:
        namespaces = ["--mount", *([] if self._has_network else ["--net"])]
        keeper = subprocess.Popen(
            ["unshare", *namespaces, "--", "sh", str(_ENTER), str(self.folder), self.view, str(self.driver.machine)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert keeper.stdout is not None
        answer = keeper.stdout.readline()
        assert answer == "ready\n", f"no fake GPU machine: {answer or keeper.wait(10)}"
        return keeper

    def _write_files(self) -> None:
        for name in ("dev", "bin", "driver-files", "var-lib"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "nodes").write_text("".join(f"{line}\n" for line in (*_BASE_NODES, *self._nodes())))
        (self.folder / "proc-devices").write_text(self._proc_devices())
        files = dict(caps_files(self.cards))
        files["nvidia/version"] = f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {DRIVER_VERSION}\n"
        files["nvidia/machine"] = self._description.text()
        for path, text in files.items():
            target = self.folder / "driver-files" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        (self.folder / "machine-library").write_bytes(
            self.driver.machine.read_bytes() + f"\n{self._description.text()}".encode()
        )
        for name, program in (("smi", "nvidia-smi"), ("modprobe", "nvidia-modprobe")):
            if name not in self._without:
                (self.folder / "bin" / program).symlink_to(self.driver.programs / program)
        if "nvml" not in self._without:
            shutil.copy(self.driver.ld_cache, self.folder / "ld.so.cache")

    def _nodes(self) -> list[str]:
        optional = {
            "nvidiactl": f"nvidiactl {CARD_MAJOR} 255",
            "uvm": f"nvidia-uvm {self.uvm_major} 0",
            "uvm-tools": f"nvidia-uvm-tools {self.uvm_major} 1",
        }
        absent = self._without | ({"uvm-tools"} if "uvm" in self._without else set())
        nodes = [line for name, line in optional.items() if name not in absent]
        nodes += [f"{card.node} {CARD_MAJOR} {card.minor}" for card in self.cards]
        caps = [cap for card in self.cards for one in card.instances for cap in one.caps]
        return nodes + [
            f"nvidia-caps/nvidia-cap{cap} {self.caps_major} {cap}" for cap in ([1, 2, *caps] if caps else [])
        ]

    def _proc_devices(self) -> str:
        """A few lines of Linux', and NVIDIA's."""
        lines = [f"{CARD_MAJOR} nvidia-frontend", f"{self.uvm_major} nvidia-uvm", f"{self.caps_major} nvidia-caps"]
        block = "\nBlock devices:\n259 blkext\n"
        return "Character devices:\n  1 mem\n  5 /dev/tty\n 10 misc\n136 pts\n" + "\n".join(lines) + "\n" + block

    def _procs_file(self, pid: int) -> Path:
        """Of the cgroup that a process is in, as a path on this machine."""
        try:
            lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
        except FileNotFoundError as error:
            raise ProcessLookupError(f"there is no process {pid}") from error
        for _, controllers, path in (line.split(":", 2) for line in lines):
            if self.view == "v2" and controllers == "":
                return Path(f"/sys/fs/cgroup{path}/cgroup.procs")
            if self.view == "v1" and "devices" in controllers.split(","):
                return Path(f"{_v1_devices()}{path}/cgroup.procs")
        raise ProcessLookupError(f"process {pid} is in no cgroup of {self.view}")


def _driven_majors() -> dict[str, int]:
    """Name → major of the character devices that have a driver here."""
    names = {}
    for line in Path("/proc/devices").read_text().partition("\n\n")[0].splitlines()[1:]:
        major, name = line.split()
        names[name] = int(major)
    return names


def _free_majors(number: int) -> Sequence[int]:
    """The highest that no driver has."""
    taken = set(_driven_majors().values())
    return [major for major in range(511, 383, -1) if major not in taken][:number]


def _cgroup_mounts() -> list[Path]:
    mounts = (line.split(" - ") for line in Path("/proc/self/mountinfo").read_text().splitlines())
    return [Path(before.split()[4]) for before, after in mounts if after.split()[0] in ("cgroup", "cgroup2")]


def _v1_devices() -> Path | None:
    mounts = (line.split(" - ") for line in Path("/proc/self/mountinfo").read_text().splitlines())
    for before, after in mounts:
        kind, _, options = after.split(maxsplit=2)
        if kind == "cgroup" and "devices" in options.split(","):
            return Path(before.split()[4])
    return None


def _subtree_control() -> str:
    files = [mount / "cgroup.subtree_control" for mount in _cgroup_mounts()]
    return "".join(file.read_text() for file in files if file.exists())


def _remove(cgroup: Path) -> None:
    with suppress(OSError):  # it has gone, or its processes have not yet
        for pid in (cgroup / "cgroup.procs").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
        cgroup.rmdir()
