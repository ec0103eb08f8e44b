"""All processes below one, found and signalled; and what makes that complete: being a subreaper.

A descendant whose parent ends becomes a child of its next ancestor that is a subreaper (kernel: prctl(2),
PR_SET_CHILD_SUBREAPER), so nothing that a program starts can leave the tree below its supervisor, whatever its process
group or session.
"""

import ctypes
import os
from collections.abc import Collection
from signal import SIGCONT, SIGKILL, SIGSTOP, Signals

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


def signal_tree(root: int, signal: Signals, *, spare: Collection[int] = ()) -> None:
    """Send it to all descendants of `root`, but not to those children in `spare` nor below them.

    All are stopped first, parents before their children, until a walk finds nobody new: so none can fork itself away,
    and no pid can be reaped and given to another process meanwhile. Then each gets the signal and is continued, also
    if it had been stopped before; what is to die also if it had been frozen.
    """
    pids = _freeze(root, spare)
    for pid in pids:
        _send(pid, signal)
    if signal == SIGKILL:
        thaw(pids)
    else:
        for pid in pids:
            _send(pid, SIGCONT)


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
