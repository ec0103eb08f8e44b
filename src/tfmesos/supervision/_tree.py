"""All processes below one, found and signalled; and what makes that complete: being a subreaper.

A descendant whose parent ends becomes a child of its next ancestor that is a subreaper (kernel: prctl(2),
PR_SET_CHILD_SUBREAPER), so nothing that a program starts can leave the tree below its supervisor, whatever its process
group or session.
"""

import ctypes
import os
from collections.abc import Collection
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM, Signals

from tfmesos.supervision._freezer import thaw
from tfmesos.supervision.processes import PARENT, read_stat

_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_MAX_ROUNDS = 100

_prctl = ctypes.CDLL(None, use_errno=True).prctl
_prctl.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong)


def become_subreaper(name: bytes) -> None:
    """Adopt all descendants whose parents end; not inherited by fork. `name` is shown by ps (15 bytes)."""
    if _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")
    _prctl(_PR_SET_NAME, name, 0, 0, 0)


def children_of(pid: int) -> list[int]:
    """Its children, zombies included; complete only while it cannot start new ones."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except (FileNotFoundError, ProcessLookupError):
        return []
    children: list[int] = []
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                children += map(int, file.read().split())
        except (FileNotFoundError, ProcessLookupError):
            if not _HAS_CHILDREN_FILES:
                return children_by_parent(pid)
    return children


_HAS_CHILDREN_FILES = os.path.exists(f"/proc/self/task/{os.getpid()}/children")
"""Whether the kernel has CONFIG_PROC_CHILDREN."""


def children_by_parent(parent: int) -> list[int]:
    """The same from the processes' own parents; slower."""
    stats = ((int(name), read_stat(name)) for name in os.listdir("/proc") if name.isdigit())
    return [pid for pid, stat in stats if stat is not None and int(stat[PARENT]) == parent]


def signal_tree(root: int, signal: Signals, *, spare: Collection[int] = ()) -> list[int]:
    """Send it to all descendants of `root`, but not to those children in `spare` nor below them.

    All are stopped first, parents before their children, until a walk finds nobody new: so none can fork itself away,
    and no pid can be reaped and given to another process meanwhile. Then each gets the signal and is continued, also
    if it had been stopped before; what is to die also if it had been frozen.

    Returns whom SIGTERM would not have reached: they get SIGKILL, as if it had its usual meaning for them.
    """
    pids = _freeze(root, spare)
    deaf = [pid for pid in pids if _is_deaf(pid) and not children_of(pid)] if signal == SIGTERM else []
    for pid in pids:
        _send(pid, SIGKILL if pid in deaf else signal)
    if signal == SIGKILL:
        thaw(pids)
    else:
        for pid in pids:
            _send(pid, SIGCONT)
    return deaf


def _is_deaf(pid: int) -> bool:
    """Whether SIGTERM is dropped: for the first process of a pid namespace, without a handler (pid_namespaces(7))."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            fields = dict(line.split(b":", 1) for line in file if b":" in line)
    except (FileNotFoundError, ProcessLookupError):
        return False
    numbers = fields.get(b"NSpid", b"").split()
    minded = int(fields.get(b"SigCgt", b"0"), 16) | int(fields.get(b"SigIgn", b"0"), 16)
    return len(numbers) > 1 and numbers[-1] == b"1" and not minded >> (SIGTERM - 1) & 1


def _freeze(root: int, spare: Collection[int]) -> list[int]:
    frozen: dict[int, None] = {}
    for _ in range(_MAX_ROUNDS):
        known = len(frozen)
        waiting = [pid for pid in children_of(root) if pid not in spare]
        while waiting:
            pid = waiting.pop()
            if pid not in frozen:
                _send(pid, SIGSTOP)
                frozen[pid] = None
            waiting += children_of(pid)
        if len(frozen) == known:
            break
    return list(frozen)


def _send(pid: int, signal: Signals) -> None:
    try:
        os.kill(pid, signal)
    except (ProcessLookupError, PermissionError):
        return  # it is gone; or it became another user's by a set-user-id program, which only root could end
