"""All isolators of an agent as one: what the containerizer calls."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tfmesos.agent.isolators.container_cgroups import ContainerCgroups, Own, own_of
from tfmesos.agent.isolators.errors import IsolationFailed
from tfmesos.agent.isolators.isolator import OWN, Isolator, LaunchEdits, Limitation, Shares, total_of
from tfmesos.agent.isolators.table import GPU_POSIX
from tfmesos.agent.isolators.view import Node, View, merged
from tfmesos.agent.isolators.withdrawal import wait_withdrawn
from tfmesos.cgroups import CgroupError
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2

if TYPE_CHECKING:  # the containerizer brings isolators in
    from tfmesos.agent.containerizer.config import ContainerConfig
    from tfmesos.agent.containerizer.identifiers import ContainerId

_MIB = 1024 * 1024
_log = logging.getLogger(__name__)
OnLimitation = Callable[["ContainerId", Limitation], None]
SetNodes = Callable[["ContainerId", tuple[Node, ...], tuple[Node, ...]], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What a container's first process is started with.

    `environment`: beneath what the command says; `overrides`: in place of it. `procs_files`: what it writes itself
    into, in this order. `directories`: its cgroups and those around it, the innermost first; `cleanup` removes them,
    and whoever is left alone with the last of them may, too. `view`: what it sees; None: it runs on the host as is.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    overrides: Mapping[str, str] = field(default_factory=dict)
    procs_files: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    view: View | None = None


class Isolation:
    """Keeps containers apart as --isolation and --launcher say; `build_isolation` makes it. `recover` comes first."""

    def __init__(
        self,
        isolators: Iterable[Isolator] = (),
        cgroups: ContainerCgroups | None = None,
        *,
        destroy_timeout_s: float = 60.0,
    ) -> None:
        """`isolators` in the table's order. `cgroups`: each container has one."""
        self._isolators = tuple(isolators)
        self._cgroups = cgroups
        self._destroy_timeout_s = destroy_timeout_s
        self._updating: dict[ContainerId, asyncio.Task[None]] = {}
        self._watching: dict[ContainerId, list[asyncio.Task[None]]] = {}
        self._passed: dict[ContainerId, Limitation] = {}
        self._shares: dict[ContainerId, Shares] = {}
        self._of_docker: set[ContainerId] = set()
        self._on_limitation: OnLimitation = lambda container_id, limitation: None
        self._set_nodes: SetNodes = _set_no_nodes

    @property
    def is_active(self) -> bool:
        """Whether there is anything to do for containers; if not, none of the calls below need be made."""
        return bool(self._isolators) or self._cgroups is not None

    @property
    def is_resizing(self) -> bool:
        """Whether it matters to a container that its executor has more or fewer tasks: `update` is to be called."""
        return any(isolator.heeds_shares for isolator in self._isolators)

    def needs_runtime(self, config: ContainerConfig) -> bool:
        """Whether a container without an image must see something else than the host does, or do less."""
        return any(isolator.wants_view(config) for isolator in self._serving(config))

    def listen(self, on_limitation: OnLimitation) -> None:
        """Call back, once for a container, when it passes a limit: it is to be ended."""
        self._on_limitation = on_limitation

    def change_nodes_by(self, set_nodes: SetNodes) -> None:
        """Call this to have nodes in the /dev of a container that runs: those of the first kind, not of the second.

        It raises IsolationFailed.
        """
        self._set_nodes = set_nodes

    async def recover(self, known: Mapping[ContainerId, ContainerConfig], orphans: Set[ContainerId]) -> None:
        """Take up what an agent before has left of these containers; cgroups of no container are destroyed.

        Each of both has its `cleanup` when nothing of it is left. Raises IsolationFailed.
        """
        with _failures():
            for isolator in self._isolators:
                await isolator.recover(known, orphans)
        for config in known.values():
            self._note(config)
        if self._cgroups is None:
            return
        for config in known.values():
            self._cgroups.adopt(config)
        for container_id in orphans:
            self._cgroups.adopt_orphan(container_id)
        with _failures():
            self._check_rules(known)
        alive = {container_id.root.value for container_id in (*known, *orphans)}
        for lineage in self._cgroups.left():
            if lineage[0] not in alive:
                await self._destroy_left(lineage)
        for container_id in known:
            self._watch(container_id)

    async def prepare(self, config: ContainerConfig) -> Prepared:
        """Make a container's cgroup, with its rules and limits. Raises IsolationFailed; nothing is left then."""
        procs_files, directories = self._cgroups.create(config) if self._cgroups is not None else ((), ())
        if not self._isolators:
            return Prepared(procs_files=procs_files, directories=directories)
        has_own = own_of(config) is not Own.END
        shares = {OWN: Resources.from_proto(config.resources), **config.shares}
        self._note(config)
        try:
            with _failures():
                edits = [await isolator.prepare(config, shares) for isolator in self._serving(config)]
                if has_own:
                    self._apply(config.id, edits)
        except BaseException:
            await self.cleanup(config.id)
            raise
        if has_own:
            self._shares[config.id] = shares
        told = [{} if has_own else self._environment_of(config), *(each.environment for each in edits)]
        return Prepared(
            environment=_together(told),
            overrides=_together(each.overrides for each in edits),
            procs_files=procs_files,
            directories=directories,
            view=merged(each.view for each in edits),
        )

    async def isolate(self, container_id: ContainerId, pid: int) -> None:
        """Its first process waits at the gate. Raises IsolationFailed: then it is to be ended and cleaned up."""
        with _failures():
            for isolator in self._isolators:
                await isolator.isolate(container_id, pid)
        self._watch(container_id)

    async def update(self, container_id: ContainerId, shares: Shares) -> bool:
        """The container's shares are these from now on; comes once at a time for one container.

        Returns when what was taken is out of reach of its processes, which may last; false if the container has ended
        before that. Raises IsolationFailed when it cannot be given what is new: then it is to be updated again, to what
        it had.
        """
        assert container_id not in self._updating
        updating = asyncio.get_running_loop().create_task(self._update(container_id, shares))
        self._updating[container_id] = updating
        try:
            await asyncio.wait([updating])
        finally:
            updating.cancel()
            del self._updating[container_id]
        if not updating.cancelled():
            updating.result()
        return not updating.cancelled()

    def fill_status(self, container_id: ContainerId, status: mesos_pb2.ContainerStatus) -> None:
        """Tell what the container has."""
        for isolator in self._isolators:
            isolator.fill_status(container_id, status)

    async def refresh_usage(self) -> None:
        """Have what `fill_usage` tells new, where that takes time."""
        for isolator in self._isolators:
            await isolator.refresh_usage()

    def fill_usage(self, container_id: ContainerId, usage: mesos_pb2.ResourceStatistics) -> None:
        """Tell what the container uses and may use; what its executor's tasks asked for counts, too."""
        shares = self._shares.get(container_id)
        if shares is not None:
            usage.cpus_soft_limit = total_of(shares, "cpus") / 1000
            usage.mem_soft_limit_bytes = total_of(shares, "mem") * _MIB // 1000
        for isolator in self._isolators:
            try:
                isolator.fill_usage(container_id, usage)
            except CgroupError as error:  # it ends just now
                _log.debug("container %s: no statistics of %s: %s", container_id, isolator.name, error)

    async def cleanup(self, container_id: ContainerId) -> Limitation | None:
        """End what is left in the container's cgroup, remove it, and free what it held: which limit it has passed.

        Idempotent, never raises. Comes when the containers that are nested in it have had theirs.
        """
        for task in self._watching.pop(container_id, ()):
            task.cancel()
        limitation = self._passed.pop(container_id, None) or self._look_passed(container_id)
        await self._destroy(container_id)
        if (updating := self._updating.get(container_id)) is not None:
            updating.cancel()
            await asyncio.wait([updating])
        for isolator in reversed(self._isolators):
            await isolator.cleanup(container_id)
        self._shares.pop(container_id, None)
        self._of_docker.discard(container_id)
        return limitation

    async def close(self) -> None:
        """Watch nothing any more; what containers that go on hold stays theirs."""
        watching = [task for tasks in self._watching.values() for task in tasks]
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
        if self._cgroups is not None:
            self._cgroups.close()

    async def _update(self, container_id: ContainerId, shares: Shares) -> None:
        is_docker = container_id in self._of_docker
        heeding = [one for one in self._isolators if one.heeds_shares and (one.serves_docker or not is_docker)]
        with _failures():
            edits = [await isolator.update(container_id, shares) for isolator in heeding]
            self._apply(container_id, edits)
            view = merged(each.view for each in edits) or View()
            if view.nodes or view.absent_nodes:
                await self._set_nodes(container_id, view.nodes, view.absent_nodes)
        withdrawn = {rule.device for each in edits for rule in each.withdrawn}
        cgroup = self._cgroups.ruled(container_id) if self._cgroups is not None else None
        if withdrawn and cgroup is not None:
            await wait_withdrawn(str(container_id), cgroup, withdrawn)
        for isolator in heeding:
            await isolator.settle(container_id)
        self._shares[container_id] = shares

    def _check_rules(self, known: Iterable[ContainerId]) -> None:
        """Who changes no rules must not give GPUs to a container that cannot open them. Raises IsolationFailed."""
        if self._cgroups is None or self._cgroups.has_devices or GPU_POSIX not in {one.name for one in self._isolators}:
            return
        for container_id in filter(self._cgroups.has_rules, known):
            raise IsolationFailed(
                f"container {container_id} opens only devices that an agent with cgroups/devices has allowed, and "
                f"{GPU_POSIX} allows no others; start the agent with its old --isolation, or end its tasks by "
                "--recover=cleanup"
            )

    def _note(self, config: ContainerConfig) -> None:
        if _is_of_docker(config):
            self._of_docker.add(config.id)

    def _serving(self, config: ContainerConfig) -> Iterator[Isolator]:
        """Those that the making of a container is the business of."""
        has_own, is_docker = own_of(config) is not Own.END, _is_of_docker(config)
        for isolator in self._isolators if not config.is_debug else ():
            if (has_own or isolator.serves_all) and (isolator.serves_docker or not is_docker):
                yield isolator

    def _environment_of(self, config: ContainerConfig) -> dict[str, str]:
        """A DEBUG container has the environment of the one around it."""
        isolators = () if config.is_debug else self._isolators
        return _together(isolator.environment_of(config.id) for isolator in isolators)

    def _apply(self, container_id: ContainerId, edits: Sequence[LaunchEdits]) -> None:
        """Put the rules of all isolators in force at once. Without any there are none: all may be opened.

        Those of a container of Docker are for the engine to set; in our cgroup is the engine's client.
        """
        rules = [rule for each in edits for rule in each.devices]
        if not rules or self._cgroups is None or container_id in self._of_docker:
            return
        cgroup = self._cgroups.ruled(container_id)
        if cgroup is not None:
            cgroup.devices.set(rules)

    def _watch(self, container_id: ContainerId) -> None:
        limiting = [isolator for isolator in self._isolators if isolator.has_limits]
        if limiting:
            loop = asyncio.get_running_loop()
            self._watching[container_id] = [loop.create_task(self._tell_passed(container_id, its)) for its in limiting]

    async def _tell_passed(self, container_id: ContainerId, isolator: Isolator) -> None:
        try:
            limitation = await isolator.wait_limitation(container_id)
        except CgroupError as error:  # it ends just now, or the kernel has no events: `cleanup` looks
            _log.debug("container %s: %s", container_id, error)
            return
        if limitation is not None and container_id not in self._passed:
            self._passed[container_id] = limitation
            _log.info("container %s: %s", container_id, limitation.message.partition("\n")[0])
            self._on_limitation(container_id, limitation)

    def _look_passed(self, container_id: ContainerId) -> Limitation | None:
        """Whether it passed a limit that nobody was told of yet: its end may be seen before."""
        for isolator in self._isolators:
            try:
                limitation = isolator.passed(container_id)
            except CgroupError as error:
                _log.debug("container %s: %s", container_id, error)
            else:
                if limitation is not None:
                    return limitation
        return None

    async def _destroy(self, container_id: ContainerId) -> None:
        """What a process that cannot be killed holds is not free, however long that lasts."""
        while self._cgroups is not None:
            try:
                await self._cgroups.destroy(container_id, self._destroy_timeout_s)
                return
            except CgroupError as error:
                _log.error("container %s: %s; trying again", container_id, error)

    async def _destroy_left(self, lineage: tuple[str, ...]) -> None:
        assert self._cgroups is not None
        _log.info("the cgroup of %s belongs to no container: it is destroyed", "/".join(lineage))
        try:
            await self._cgroups.destroy_left(lineage, self._destroy_timeout_s)
        except CgroupError as error:
            _log.error("%s", error)


def _is_of_docker(config: ContainerConfig) -> bool:
    return config.container is not None and config.container.type == mesos_pb2.ContainerInfo.DOCKER


def _together(told: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {name: value for each in told for name, value in each.items()}


async def _set_no_nodes(container_id: ContainerId, wanted: tuple[Node, ...], absent: tuple[Node, ...]) -> None:
    """All containers have the nodes of the host."""


@contextmanager
def _failures() -> Iterator[None]:
    """One error for all that can go wrong."""
    try:
        yield
    except CgroupError as error:
        raise IsolationFailed(str(error)) from error
