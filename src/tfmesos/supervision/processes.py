"""Processes, named so that a pid used again is never taken for one of them."""

import os
from functools import cache

_PIDFD_OPEN = 434
"""kernel: include/uapi/asm-generic/unistd.h; the same on every architecture."""


def open_pidfd(pid: int) -> int:
    """A descriptor that becomes readable when the process has ended (kernel: pidfd_open(2), since Linux 5.3).

    Pythons that were built on old systems, to run on many, lack os.pidfd_open. Raises ProcessLookupError, or another
    OSError where the kernel or a sandbox refuses it.
    """
    return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else pidfd_by_syscall(pid)


def pidfd_by_syscall(pid: int) -> int:
    """The same without Python's support."""
    import ctypes

    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_uint)
    syscall.restype = ctypes.c_long
    descriptor = int(syscall(_PIDFD_OPEN, pid, 0))
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return descriptor


def process_start_time(pid: int) -> int | None:
    """When the process started, in clock ticks after boot; None: there is none (zombies still have one).

    A pid and its start time together name a process for good.
    """
    stat = read_stat(pid)
    return None if stat is None else int(stat[START_TIME])


def is_running(pid: int, start_time: int) -> bool:
    """Whether this very process is there and has not ended."""
    stat = read_stat(pid)
    return stat is not None and int(stat[START_TIME]) == start_time and stat[STATE] not in (b"Z", b"X")


STATE, PARENT, SESSION, USER_TIME, SYSTEM_TIME, ENDED_USER_TIME, ENDED_SYSTEM_TIME = 0, 1, 3, 11, 12, 13, 14
THREADS, START_TIME, RESIDENT_PAGES = 17, 19, 21


def read_stat(pid: int | str) -> list[bytes] | None:
    """What the kernel tells of a process, from its state on (kernel: proc(5), stat, field 3); None: there is none."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, ProcessLookupError):
        return None
    try:
        stat = os.read(descriptor, 4096)
    except ProcessLookupError:
        return None
    finally:
        os.close(descriptor)
    return stat[stat.rindex(b")") + 2 :].split()


@cache
def read_boot_id() -> str:
    """Another one after each start of the machine (kernel: random(4))."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def raise_descriptor_limit() -> int:
    """Let this process have as many descriptors as it may (RLIMIT_NOFILE); returns the soft limit before."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return soft
