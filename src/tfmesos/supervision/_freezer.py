"""Lets go what is frozen: on version 1 of cgroups a frozen process does not even die of SIGKILL.

A program with the rights may freeze what it starts: container tools do, to pause. Version 2 kills frozen ones.
(kernel: Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst)
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from posixpath import dirname, relpath


def thaw(pids: Iterable[int]) -> None:
    """Whatever froze them below the cgroup that this process is in, or beside it. Where there is none, nothing."""
    if os.geteuid() != 0:
        return
    mount = _mount()
    if mount is None:
        return
    root, point = mount
    for path in {above for pid in pids for above in _frozen_by(str(pid))} - set(_frozen_by("self")):
        with suppress(OSError):
            descriptor = os.open(b"%b/%b/freezer.state" % (point, relpath(path, root)), os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.write(descriptor, b"THAWED")
            finally:
                os.close(descriptor)


def _mount() -> tuple[bytes, bytes] | None:
    """The cgroup that is mounted, and where (kernel: proc(5), /proc/pid/mountinfo)."""
    for line in _lines("/proc/self/mountinfo"):
        left, _, right = line.partition(b" - ")
        kind, _, options = right.partition(b" ")
        if kind == b"cgroup" and b"freezer" in options.split()[-1].split(b","):
            root, point = left.split()[3:5]
            return root, point
    return None


def _frozen_by(pid: str) -> Iterator[bytes]:
    """The cgroup that a process is in and those above it, without the root, which never freezes."""
    for line in _lines(f"/proc/{pid}/cgroup"):
        _, controllers, path = line.rstrip(b"\n").split(b":", 2)
        if b"freezer" in controllers.split(b","):
            while path != b"/":
                yield path
                path = dirname(path)


def _lines(path: str) -> list[bytes]:
    """None of a process that has ended."""
    with suppress(OSError), open(path, "rb") as file:
        return file.readlines()
    return []
