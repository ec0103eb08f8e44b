"""The cgroup of one container: a directory in each tree that is wanted.

What its processes make below it (they may, with rights) counts as its own: it is killed and removed with it.
"""

import asyncio
import os
import time
from collections.abc import Collection
from dataclasses import dataclass

from tfmesos.cgroups import _files, _killing
from tfmesos.cgroups._cpu import CpuV1, CpuV2
from tfmesos.cgroups._device_files import DeviceFiles
from tfmesos.cgroups._device_programs import DevicePrograms
from tfmesos.cgroups._holders import holders
from tfmesos.cgroups._memory import MemoryV1, MemoryV2
from tfmesos.cgroups._pids import Pids
from tfmesos.cgroups.controls import CpuControl, DeviceControl, MemoryControl, PidsControl
from tfmesos.cgroups.devices import Device
from tfmesos.cgroups.errors import CgroupError
from tfmesos.cgroups.hierarchies import WITHOUT_CONTROLLER

LEAF = "leaf"
NESTED = "mesos"
_FIRST_PAUSE_S = 0.001
_LAST_PAUSE_S = 0.05
_PASSES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A cgroup's directory in one tree; `to_enable` are the controllers that its own children shall have."""

    path: str
    version: int
    controllers: frozenset[str]
    to_enable: frozenset[str]

    @property
    def procs_file(self) -> str:
        """Where a process writes itself in."""
        return f"{self.path}/{LEAF}/cgroup.procs" if self.version == 2 else f"{self.path}/cgroup.procs"

    @property
    def directories(self) -> tuple[str, ...]:
        """What `create` makes, the innermost first."""
        return (f"{self.path}/{LEAF}", self.path) if self.version == 2 else (self.path,)

    def has(self, controller: str) -> bool:
        """Whether the directory is there, and with this controller."""
        if self.version == 1 or controller in WITHOUT_CONTROLLER:
            return os.path.isdir(self.path)
        enabled = f"{self.path}/cgroup.controllers"
        return _files.exists(enabled) and controller in _files.read(enabled).split()

    def create(self) -> None:
        """Raises CgroupError; `Cgroup.remove_empty` removes what was made until then."""
        above = os.path.dirname(self.path)
        if os.path.basename(above) == NESTED and os.path.isdir(os.path.dirname(above)):
            _files.enable(os.path.dirname(above), self.to_enable)
            _files.make_directory(above)
            _files.enable(above, self.to_enable)
        for path in reversed(self.directories):
            _files.make_directory(path)


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
            return DeviceFiles(part.path, f"{part.path}/{NESTED}")
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
        counting = next((its.path for its in self.parts if "cpuacct" in its.controllers), None)
        return CpuV1(part.path, counting)

    @property
    def pids_limit(self) -> PidsControl:
        """How many processes and threads there may be."""
        return Pids(self._part_of("pids").path)

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
