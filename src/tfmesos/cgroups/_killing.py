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
            _brake(part, brakes)
        _signal_all(pids)


def _brake(part: Part, brakes: contextlib.ExitStack) -> None:
    """Hold the processes until `brakes` closes: frozen ones of version 1 do not die before."""
    if part.version == 2:
        _files.try_write(f"{part.path}/cgroup.freeze", "1")
        brakes.callback(_files.try_write, f"{part.path}/cgroup.freeze", "0")
        return
    if "freezer" in part.controllers:
        _files.try_write(f"{part.path}/freezer.state", "FROZEN")
        brakes.callback(_thaw, part.path)
    if "pids" in part.controllers:
        file = f"{part.path}/pids.max"
        with contextlib.suppress(CgroupError):  # someone else removes it just now
            brakes.callback(_files.try_write, file, _files.read(file).strip())
            _files.write(file, "0")


def _thaw(path: str) -> None:
    """Also what a process has frozen below: each cgroup has a state of its own."""
    for below in _files.tree(path):
        _files.try_write(f"{below}/freezer.state", "THAWED")


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
