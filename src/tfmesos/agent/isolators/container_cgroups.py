"""Which cgroup a container's processes are in.

A container has a cgroup of its own in every tree, with these exceptions for what is nested in another:

* by linux_info.share_cgroups, which is true unless the launch says otherwise (Mesos 1.11), it shares the processors and
  the memory of the one around it; if its launch names resources, it has rules of devices of its own all the same, so
  that each task of a group opens its own cards only;
* a DEBUG one, and one whose launch names no resources, shares all.

One that an OCI runtime makes has a cgroup in every other tree, too, since the runtime makes one there anyway: so
whatever ends the container finds it by its name.

What ends a container (the freezer; all of version 2) is never shared. There, nothing is said of a container that
shares, so what holds for the one around it holds for it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from enum import Enum, auto
from typing import TYPE_CHECKING

from tfmesos.agent.isolators.errors import IsolationFailed
from tfmesos.cgroups import Cgroup, CgroupError, Cgroups, Hierarchies, Lineage

if TYPE_CHECKING:
    from tfmesos.agent.containerizer.config import ContainerConfig
    from tfmesos.agent.containerizer.identifiers import ContainerId

FREEZER = "freezer"
DEVICES = "devices"


class Own(Enum):
    """What a container has for itself."""

    END = auto()
    """Only that it can be ended alone."""
    DEVICES = auto()
    """Rules of devices, too."""
    ALL = auto()


def own_of(config: ContainerConfig) -> Own:
    """What the container has for itself."""
    if config.id.parent is None:
        return Own.ALL
    if config.is_debug:
        return Own.END
    info = config.container
    if info is not None and info.HasField("linux_info") and not info.linux_info.share_cgroups:
        return Own.ALL
    return Own.DEVICES if config.resources else Own.END


class ContainerCgroups:
    """The cgroups of an agent's containers, by container."""

    def __init__(self, hierarchies: Hierarchies, root: str, controllers: Collection[str], owner: str) -> None:
        """`owner`: the agent, by a name that its next run has, too. Raises CgroupError with the remedy."""
        ending = frozenset(name for name in controllers if _ends(hierarchies, name))
        self._scope = {
            Own.END: ending,
            Own.DEVICES: ending | ({DEVICES} & set(controllers)),
            Own.ALL: frozenset(controllers),
        }
        self._of = {own: Cgroups.open(hierarchies, root, scope, owner) for own, scope in self._scope.items()}
        self._everywhere = self._of[Own.ALL].widened(hierarchies)
        self._elsewhere = self._of[Own.ALL].elsewhere(hierarchies)
        self._owns: dict[ContainerId, Own] = {}

    @property
    def has_devices(self) -> bool:
        """Whether containers are made with rules of devices."""
        return DEVICES in self._scope[Own.ALL]

    def create(self, config: ContainerConfig) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Make what is its own: where a process of it writes itself into, and what goes with it, the innermost first.

        That is also what is around it: whichever of them ends last can remove it. Raises IsolationFailed.
        """
        own = own_of(config)
        lineage = lineage_of(config.id)
        try:
            for depth in range(1, len(lineage)):  # what is around it may have less of its own, or be of another agent
                self._of[own].complete(lineage[:depth])
            made = self._of[own].create(lineage)
            its_directories = self._complete_for_runtime(lineage) if config.is_oci else made.directories
        except CgroupError as error:
            raise IsolationFailed(str(error)) from error
        self._owns[config.id] = own
        directories = (*its_directories, *self._directories_around(config.id))
        return (*made.procs_files, *self._shared_files(config.id, own)), directories

    def adopt(self, config: ContainerConfig) -> None:
        """It is there already, made by an agent before."""
        self._owns[config.id] = own_of(config)

    def adopt_orphan(self, container_id: ContainerId) -> None:
        """The same of one that is to be destroyed only."""
        self._owns[container_id] = Own.END

    def limited(self, container_id: ContainerId, controller: str) -> Cgroup | None:
        """The cgroup in which the container's own use is limited; None if it shares that."""
        return self._find_with(container_id, controller) if self._owns.get(container_id) is Own.ALL else None

    def counted(self, container_id: ContainerId, controller: str) -> Cgroup | None:
        """The cgroup in which its use is counted, be it its own or that of a container around it."""
        around = (item for item in container_id.lineage() if self._owns.get(item) is Own.ALL)
        counting = next(around, None)
        return None if counting is None else self._find_with(counting, controller)

    def ruled(self, container_id: ContainerId) -> Cgroup | None:
        """The cgroup whose rules of devices are the container's own; None if it shares them."""
        return None if self._owns.get(container_id) in (None, Own.END) else self._find_with(container_id, DEVICES)

    def has_rules(self, container_id: ContainerId) -> bool:
        """Whether its devices are restricted, be it by an agent before that had other isolators. Raises CgroupError."""
        found = self._everywhere.find(lineage_of(container_id))
        return found is not None and found.has(DEVICES) and found.devices.has_rules()

    async def destroy(self, container_id: ContainerId, timeout_s: float) -> None:
        """Kill what is in it and remove it, if it was made or adopted. Raises CgroupError with what is left.

        Also in trees that an agent before has used and this one does not.
        """
        found = self._everywhere.find(lineage_of(container_id)) if container_id in self._owns else None
        if found is not None:
            await found.destroy(timeout_s)
        self._owns.pop(container_id, None)

    def left(self) -> Iterator[tuple[str, ...]]:
        """The outermost containers of this agent, and of the one before it, that have a cgroup."""
        return (lineage for lineage in self._everywhere.lineages() if len(lineage) == 1)

    async def destroy_left(self, lineage: tuple[str, ...], timeout_s: float) -> None:
        """The same of a container of which nothing but a cgroup is left."""
        found = self._everywhere.find(lineage)
        if found is not None:
            await found.destroy(timeout_s)

    def close(self) -> None:
        """Remove the roots if they are empty and were made here."""
        self._everywhere.close()

    def _complete_for_runtime(self, lineage: Lineage) -> tuple[str, ...]:
        """Make its cgroup in every tree; all that goes with it, in an order in which it can be removed."""
        for depth in range(1, len(lineage) + 1):
            self._of[Own.ALL].complete(lineage[:depth])
            self._elsewhere.complete(lineage[:depth])
        found = self._everywhere.find(lineage)
        assert found is not None
        return tuple(path for part in found.parts for path in (part.guest, *part.directories))

    def _find(self, container_id: ContainerId) -> Cgroup | None:
        return self._of[Own.ALL].find(lineage_of(container_id))

    def _find_with(self, container_id: ContainerId, controller: str) -> Cgroup | None:
        """None, too, for what an agent before, with other isolators, has left without this controller."""
        found = self._find(container_id)
        return found if found is not None and found.has(controller) else None

    def _directories_around(self, container_id: ContainerId) -> Iterator[str]:
        """Of the containers that it is nested in, the innermost first."""
        around = container_id.parent
        while around is not None:
            found = self._everywhere.find(lineage_of(around))
            for part in found.parts if found is not None else ():
                yield from (part.passage, part.guest, *part.directories)
            around = around.parent

    def _shared_files(self, container_id: ContainerId, own: Own) -> Iterator[str]:
        """Of the trees in which it has nothing of its own: those of the nearest container around it that has."""
        missing = self._scope[Own.ALL] - self._scope[own]
        around = container_id.parent
        while around is not None and missing:
            scope = self._scope[self._owns.get(around, Own.ALL)]
            found = self._find(around)
            parts = found.parts if found is not None else ()
            shared = (part.procs_file for part in parts if part.controllers & missing & scope)
            yield from filter(os.path.exists, shared)  # of an agent before it may be in none
            missing -= scope
            around = around.parent


def lineage_of(container_id: ContainerId) -> tuple[str, ...]:
    """The outermost id first."""
    return tuple(reversed([item.value for item in container_id.lineage()]))


def _ends(hierarchies: Hierarchies, controller: str) -> bool:
    tree = hierarchies.tree_of(controller)
    return controller == FREEZER or (tree is not None and tree.version == 2)
