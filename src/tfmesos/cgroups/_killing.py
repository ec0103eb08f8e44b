"""Ends every process of a cgroup: none escapes by forking, by being stopped or by being frozen."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterable

from tfmesos.cgroups import _files
from tfmesos.cgroups._part import Part
from tfmesos.cgroups.errors import CgroupError

_PASSES = 100


def kill(parts: Iterable[Part], pids: Callable[[], set[int]]) -> None:
    """Version 2 kills at once, forks included (kernel 5.14: cgroup.kill).

    Elsewhere a process that was sent SIGKILL can fork no more, so that a few passes reach everything unless the others
    fork faster than that: the freezer stops them, and where there is none, a limit of 0 for new processes.
    """
    there = [part for part in parts if _files.exists(part.path)]
    others = [part for part in there if part.version == 1 or not _files.try_write(f"{part.path}/cgroup.kill", "1")]
    if not others or not pids():
        return
    with contextlib.ExitStack() as brakes:
        for part in others:
            for name, stop, go in _brakes(part):
                path = f"{part.path}/{name}"
                if _files.try_write(path, stop):
                    brakes.callback(_files.try_write, path, go)
        _signal_all(pids)


def _brakes(part: Part) -> list[tuple[str, str, str]]:
    """Files with what holds the processes and what lets them go: frozen ones of version 1 do not die."""
    if part.version == 2:
        return [("cgroup.freeze", "1", "0")]
    brakes = []
    if "freezer" in part.controllers:
        brakes.append(("freezer.state", "FROZEN", "THAWED"))
    if "pids" in part.controllers:
        with contextlib.suppress(CgroupError):  # someone else removes it just now
            brakes.append(("pids.max", "0", _files.read(f"{part.path}/pids.max").strip()))
    return brakes


def _signal_all(pids: Callable[[], set[int]]) -> None:
    seen: set[int] = set()
    for _ in range(_PASSES):
        new = pids() - seen
        if not new:
            return
        for pid in new:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        seen |= new
