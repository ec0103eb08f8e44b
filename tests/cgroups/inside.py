"""A process in a cgroup that tries what it is told to, and says what came of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from types import TracebackType

from tfmesos.cgroups import Cgroup, Device, DeviceRule

PROGRAM = r"""
import errno, json, os, select, stat, sys, time

FLAGS = {"r": os.O_RDONLY, "w": os.O_WRONLY, "rw": os.O_RDWR, "path": os.O_PATH}

def attempt(what):
    try:
        what()
        return "ok"
    except OSError as error:
        return errno.errorcode[error.errno]

def make(path, kind, major, minor):
    os.mknod(path, 0o600 | (stat.S_IFCHR if kind == "c" else stat.S_IFBLK), os.makedev(major, minor))
    os.unlink(path)

def answer(order, path="", *rest):
    if order == "open":
        return attempt(lambda: os.close(os.open(path, FLAGS[rest[0]])))
    if order == "hold":
        return attempt(lambda: os.open(path, FLAGS[rest[0]]))
    if order == "make":
        return attempt(lambda: make(path, *rest))
    if order == "loop":  # until the next order is there
        results = {}
        while not select.select([0], [], [], 0)[0]:
            result = attempt(lambda: os.close(os.open(path, os.O_RDWR)))
            results[result] = results.get(result, 0) + 1
        return results
    if order == "eat":
        sys.eaten = bytearray(int(path))
        return "ok"
    if order == "fork":
        return attempt(lambda: os.fork() or select.select([], [], []))
    if order == "hop":
        while True:
            if os.fork():
                os._exit(0)
    if order == "spin":
        end = time.process_time() + float(path)
        while time.process_time() < end:
            pass
        return "ok"
    return "ok"

for procs in sys.argv[1:]:
    with open(procs, "w") as file:
        file.write("0")
print("null", flush=True)
while line := sys.stdin.buffer.raw.readline():
    print(json.dumps([answer(*order) for order in json.loads(line)]), flush=True)
"""


class Inside:
    """Speaks with the process; a context that ends it."""

    def __init__(self, cgroup: Cgroup) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", PROGRAM, *cgroup.procs_files],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.receive()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, orders: Sequence[Sequence[object]]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(orders).encode() + b"\n")
        self._process.stdin.flush()

    def receive(self) -> list[object]:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())  # type: ignore[no-any-return]

    def ask(self, *order: object) -> object:
        return self.ask_all([order])[0]

    def ask_all(self, orders: Sequence[Sequence[object]]) -> list[object]:
        self.send(orders)
        return self.receive()

    def wait(self) -> int:
        """The status once it has ended."""
        return self._process.wait(10)

    def __enter__(self) -> Inside:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()


class Nodes:
    """Device nodes in a directory of the test's own, and what a process inside may do with them."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._made: set[str] = set()

    def path_of(self, device: Device) -> str:
        path = f"{self._directory}/{str(device).replace(' ', '-').replace(':', '-')}"
        if path not in self._made:
            assert device.major is not None
            assert device.minor is not None
            mode = 0o600 | (0o20000 if device.type == "c" else 0o60000)
            os.mknod(path, mode, os.makedev(device.major, device.minor))
            self._made.add(path)
        return path

    def order(self, request: DeviceRule) -> tuple[object, ...]:
        """A request is for "r", "w", "rw" or "m" alone."""
        device = request.device
        if request.access == "m":
            return ("make", f"{self._directory}/made", device.type, device.major, device.minor)
        return ("open", self.path_of(device), request.access)

    def allowed(self, inside: Inside, requests: Iterable[DeviceRule]) -> set[DeviceRule]:
        """Which requests the kernel lets through: nothing drives these devices, so that an open then ends in ENXIO."""
        wanted = list(requests)
        answers = inside.ask_all([self.order(request) for request in wanted])
        assert set(map(str, answers)) <= {"ok", "ENXIO", "EPERM"}, answers
        return {request for request, answer in zip(wanted, answers, strict=True) if answer != "EPERM"}
