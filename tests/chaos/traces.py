"""What a run has on this machine, and what of it is left later: processes, sockets, files, locks, mounts."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PROC = Path("/proc")


def processes_with(mark: str) -> Iterator[int]:
    """Those whose environment holds `mark`: it is handed down to all that a run starts."""
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)


def name_of(pid: int) -> str:
    """As ps shows it; empty if it is gone."""
    try:
        return (PROC / str(pid) / "comm").read_text().strip()
    except OSError:
        return ""


def command_of(pid: int) -> list[str]:
    try:
        return (PROC / str(pid) / "cmdline").read_text().split("\0")
    except OSError:
        return []


def wait_for_process(mark: str, name: str, *, but_not: int = 0, timeout_s: float = 30.0) -> int:
    """Pid of a marked process that ps shows as `name`, or that has it among its arguments."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        for pid in processes_with(mark):
            if pid != but_not and (name == name_of(pid) or name in command_of(pid)):
                return pid
        time.sleep(0.02)  # nothing tells that another process's child was started
    raise TimeoutError(f"no process {name!r} within {timeout_s} s")


@dataclass
class Traces:
    """What was there; `left` tells what still is."""

    mark: str
    directories: list[Path]
    mounts: set[str] = field(default_factory=lambda: mounts())
    pidfds: dict[int, int] = field(default_factory=dict)
    sockets: set[str] = field(default_factory=set)

    def note(self) -> None:
        """Take in what is there now; processes by pidfd, so that no pid used again is taken for one of them."""
        for pid in processes_with(self.mark):
            with contextlib.suppress(OSError):
                self.sockets |= sockets_of(pid)
                if pid not in self.pidfds:
                    self.pidfds[pid] = os.pidfd_open(pid)

    def wait_gone(self, timeout_s: float) -> list[str]:
        """What is left when everything is gone or the time is over: one text each."""
        deadline = time.monotonic() + timeout_s
        while (left := self.left()) and time.monotonic() < deadline:
            running = [pidfd for pidfd in self.pidfds.values() if not is_over(pidfd)]
            select.select(running[:1], [], [], 0.05)
        return left

    def left(self) -> list[str]:
        self.note()
        here = {inode for inode in listed_sockets() if inode in self.sockets}
        return [
            *(f"process {pid} {name_of(pid)} {command_of(pid)}" for pid, fd in self.pidfds.items() if not is_over(fd)),
            *(f"socket {inode}" for inode in here),
            *(f"mount {mount}" for mount in mounts() - self.mounts),
            *(f"socket file {path}" for path in self._files() if path.is_socket()),
            *(f"lock of {path}" for path in self._files() if path.name == "lock" and is_locked(path)),
        ]

    def close(self) -> None:
        for pidfd in self.pidfds.values():
            os.close(pidfd)
        self.pidfds.clear()

    def _files(self) -> Iterator[Path]:
        for directory in self.directories:
            for parent, _, names in os.walk(directory):
                yield from (Path(parent, name) for name in names)


def is_over(pidfd: int) -> bool:
    """Whether its process has ended (a zombie has)."""
    return bool(select.select([pidfd], [], [], 0)[0])


def mounts() -> set[str]:
    return set(Path("/proc/self/mountinfo").read_text().splitlines())


def sockets_of(pid: int) -> set[str]:
    """Inodes of its sockets that are bound to something: a listening one, or one with a name."""
    inodes = set()
    for link in (PROC / str(pid) / "fd").iterdir():
        with contextlib.suppress(OSError):
            kind, _, rest = os.readlink(link).partition(":[")
            if kind == "socket":
                inodes.add(rest.rstrip("]"))
    return inodes


def listed_sockets() -> Iterator[str]:
    """Inodes of all sockets of this machine (proc(5): /proc/net/unix, tcp, tcp6); what lingers without owner has 0."""
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        yield line.split()[6]
    for family in ("tcp", "tcp6"):
        for line in Path("/proc/net", family).read_text().splitlines()[1:]:
            inode = line.split()[9]
            if inode != "0":
                yield inode


def is_locked(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
