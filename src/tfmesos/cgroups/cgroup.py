"""The cgroup of one container: a directory in each tree that is wanted.

What its processes make below it (they may, with rights) counts as its own: it is killed and removed with it.
"""

import asyncio
import os
import time
from collections.abc import Collection

from tfmesos.cgroups import _files, _killing
from tfmesos.cgroups._cpu import CpuV1, CpuV2
from tfmesos.cgroups._device_files import DeviceFiles
from tfmesos.cgroups._device_programs import DevicePrograms
from tfmesos.cgroups._holders import holders
from tfmesos.cgroups._memory import MemoryV1, MemoryV2
from tfmesos.cgroups._part import Part
from tfmesos.cgroups.controls import CpuControl, DeviceControl, MemoryControl
from tfmesos.cgroups.devices import Device
from tfmesos.cgroups.errors import CgroupError

_FIRST_PAUSE_S = 0.001
_LAST_PAUSE_S = 0.05
_PASSES = 100


class Cgroup:
    """What a container's processes are in, with what can be set for them."""

    def __init__(self, lineage: tuple[str, ...], parts: tuple[Part, ...]) -> None:
        self.lineage = lineage
        self.parts = parts

    @property
    def procs_files(self) -> tuple[str, ...]:
        """One for each tree: a process that writes `0` into each is in the cgroup, and so is what it starts."""
        return tuple(part.procs_file for part in self.parts)

    @property
    def directories(self) -> tuple[str, ...]:
        """What was made for it, in an order in which it can be removed."""
        return tuple(path for part in self.parts for path in part.directories)

    def pids(self) -> set[int]:
        """Processes in it and below it. Those of another pid namespace have no number here and are not among them."""
        return set().union(*(_files.read_pids(part.path) for part in self.parts))

    def holders(self, devices: Collection[Device]) -> dict[int, set[Device]]:
        """Which of its processes have which of these devices open; empty only if none has.

        A process that was started meanwhile may have a descriptor from one that has ended: until there is no new one,
        it is looked at, too. Who starts processes faster than that counts as a holder.
        """
        seen: set[int] = set()
        found: dict[int, set[Device]] = {}
        for _ in range(_PASSES):
            new = self.pids() - seen
            if not new:
                return found
            found |= holders(new, devices)
            seen |= new
        return found | {pid: set(devices) for pid in new}

    def kill(self) -> None:
        """SIGKILL to every process in it and below it, also to those that are stopped, frozen by it or just forking."""
        _killing.kill(self.parts, self.pids)

    async def destroy(self, timeout_s: float = 60) -> None:
        """Kill what is in it and below it, wait until it is gone, and remove it from every tree.

        Nothing happens if it does not exist. CgroupError after `timeout_s` names what is left.
        """
        deadline = time.monotonic() + timeout_s
        pause_s = _FIRST_PAUSE_S
        while not self.remove_empty():
            self.kill()
            if time.monotonic() >= deadline:
                raise CgroupError(self._what_is_left(timeout_s))
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, _LAST_PAUSE_S)

    def remove_empty(self) -> bool:
        """Remove what no process is in, from below; True if nothing is left in any tree."""
        left = [part for part in self.parts if not _files.remove_tree(part.path)]
        return not left

    def has(self, controller: str) -> bool:
        """Whether it can be set here: not if the cgroup was made for other controllers, by an agent before."""
        part = next((part for part in self.parts if controller in part.controllers), None)
        return part is not None and part.has(controller)

    @property
    def devices(self) -> DeviceControl:
        """Which device nodes may be opened."""
        part = self._part_of("devices")
        if part.version == 1:
            return DeviceFiles(part.path, below=(part.passage, part.guest))
        return DevicePrograms(part.path)

    @property
    def memory(self) -> MemoryControl:
        """Limits and use of memory."""
        part = self._part_of("memory")
        return MemoryV1(part.path) if part.version == 1 else MemoryV2(part.path)

    @property
    def cpu(self) -> CpuControl:
        """Shares, limits and use of processor time; used time is told on version 1 where `cpuacct` is wanted, too."""
        part = self._part_of("cpu")
        if part.version == 2:
            return CpuV2(part.path)
        counting = (its.path for its in self.parts if its.version == 1 and "cpuacct" in its.controllers)
        return CpuV1(part.path, next(counting, None))

    def _part_of(self, controller: str) -> Part:
        for part in self.parts:
            if controller in part.controllers:
                return part
        raise CgroupError(f"The cgroup of {'/'.join(self.lineage)} was made without the controller '{controller}'")

    def _what_is_left(self, timeout_s: float) -> str:
        paths = [part.path for part in self.parts if os.path.isdir(part.path)]
        pids = sorted(self.pids())
        held = f"processes {', '.join(map(str, pids))} do not end" if pids else "the kernel says it is busy"
        return f"Cannot destroy the cgroup {', '.join(paths)} within {timeout_s:g} s: {held}"
