"""Processes, named so that a pid used again is never taken for one of them."""

import os

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

    A pid and its start time together name a process for good (kernel: proc(5), field 22 of stat).
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(stat[stat.rindex(b")") + 2 :].split()[19])


def raise_descriptor_limit() -> int:
    """Let this process have as many descriptors as it may (RLIMIT_NOFILE); returns the soft limit before."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return soft
