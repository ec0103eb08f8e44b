"""All containers of an agent: launched, found again, ended."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from tfmesos.agent.containerizer.choice import runtime_for
from tfmesos.agent.containerizer.config import ContainerConfig, ContainerKind
from tfmesos.agent.containerizer.container import Container
from tfmesos.agent.containerizer.defaults import parse_container_info, with_default_container
from tfmesos.agent.containerizer.errors import LaunchFailed
from tfmesos.agent.containerizer.identifiers import ContainerId
from tfmesos.agent.containerizer.orphans import Orphans
from tfmesos.agent.containerizer.parts import Parts
from tfmesos.agent.containerizer.refusals import Refusals
from tfmesos.agent.containerizer.runtime_dir import RuntimeDir
from tfmesos.agent.containerizer.spawner import Spawner, Surroundings
from tfmesos.agent.containerizer.specification import container_environment
from tfmesos.agent.containerizer.tree import ContainerTree
from tfmesos.agent.errors import BadUser
from tfmesos.agent.fetcher import Fetcher
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.isolators import Limitation, Node, Shares, keep_place
from tfmesos.agent.sandboxes.gc import Collector, Schedule
from tfmesos.agent.sandboxes.inner import Owner, make_nested_sandbox, remove_nested_sandbox
from tfmesos.agent.sandboxes.trees import remove_tree
from tfmesos.agent.sandboxes.work_dir import make_sandbox, old_runs
from tfmesos.agent.users import Identity, identity_of
from tfmesos.supervision import Supervised, SupervisionError, Supervisors, Termination
from tfmesos.wire import mesos_pb2

_OF_FRAMEWORKS = (ContainerKind.COMMAND_TASK, ContainerKind.EXECUTOR)
_MAX_REMEMBERED = 2000
_log = logging.getLogger(__name__)


class Containerizer:
    """All containers of an agent. `start` comes first, `close` last; between them any number of launches at once."""

    def __init__(self, flags: AgentFlags, supervisors: Supervisors, parts: Parts | None = None) -> None:
        """Without parts containers are programs on the host that nothing keeps apart; `close` closes the parts."""
        self._flags = flags
        self._supervisors = supervisors
        self._tree = ContainerTree()
        self.fetcher = Fetcher(flags, supervisors, os.environ)
        """For its metrics."""
        self.runtime_dir = flags.runtime_path
        """Where what is kept of them is."""
        self._runtime_dir = RuntimeDir(self.runtime_dir)
        self._parts = parts or Parts()
        self._isolation = self._parts.isolation
        self._isolation.listen(self._on_limitation)
        self._isolation.change_nodes_by(self._set_nodes)
        self._spawner = Spawner(flags, supervisors, self._runtime_dir, self._parts, self.fetcher)
        self._refusals = Refusals(flags)
        default = flags.default_container_info
        self._default_container = None if default is None else parse_container_info(default)
        self._orphans = Orphans(self.forget)
        self._remembered: deque[ContainerId] = deque()
        self._work_dir = os.path.realpath(flags.work_dir)
        schedule = Schedule(flags.gc_delay, flags.gc_disk_headroom)
        self.collector = Collector(schedule, self._work_dir, flags.disk_watch_interval)
        """Of old sandboxes; for its metrics."""

    async def start(self) -> None:
        """Get ready.

        Raises BadAgentFlags if the runtime directory cannot be had, or cgroups of an agent before would not be found.
        """
        self._runtime_dir.lock()
        keep_place(self._flags, str(self.runtime_dir))
        self.collector.start()
        await self._supervisors.start()

    async def recover(self, known: Iterable[ContainerId]) -> Mapping[ContainerId, Container]:
        """What is left of the known containers of an agent that ran before, running or ended, and of what is in them.

        To be called before the first launch. A known one that is missing was never started, or the machine was started
        again since. Standalone ones are found, too; all others are ended, in the background unless they hold something.
        Raises BadAgentFlags if one is of a runtime that this agent is started without.
        """
        configs = dict(self._runtime_dir.load())
        self._parts.check(configs.values())
        processes = dict(zip(configs, await asyncio.gather(*map(self._adopt, configs)), strict=True))
        never = {found for found in configs if found.parent is not None and _was_never_run(processes[found])}
        staying = _staying(configs, set(known), never)
        orphans = {found: config for found, config in configs.items() if found not in staying}
        await self._parts.recover(staying, orphans)
        for container_id in never:  # whoever asked for it was never answered, and will ask again
            await self._parts.cleanup(configs[container_id])
            self._runtime_dir.remove(container_id)
        await self._runtime_dir.wait_removed()
        for container_id, config in configs.items():
            if container_id not in never:
                self._add(config, processes[container_id])
        for container in self._tree:
            if container.id not in staying and container.id.parent is None:
                self._orphans.end(container)
        if self._isolation.is_active:  # else what they hold would be offered before it is free
            await self._orphans.wait_gone()
        await self._collect_old()
        return {container.id: container for container in self._tree if container.id in staying}

    async def launch(self, config: ContainerConfig) -> Container:
        """Make the sandbox, fetch, and fork the container's first process, which waits at a gate.

        Raises LaunchFailed, also for everything in the configuration that cannot be served, for an id that is known,
        and when `abort` ended it. Who cancels it ends it, too; nothing runs then.
        """
        if self._tree.find(config.id) is not None or self._tree.is_launching(config.id):
            raise LaunchFailed(f"container {config.id} was launched before")
        launch = asyncio.get_running_loop().create_task(self._launch(config), name=f"launch of {config.id}")
        self._tree.begin_launch(config.id, launch)
        try:
            return await launch
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if current is not None and current.cancelling():
                if (made := self._tree.find(config.id)) is not None:  # just before
                    made.kill(0.0)
                raise
            raise LaunchFailed("the container was destroyed while it was launched") from None
        finally:
            self._tree.end_launch(config.id)

    @property
    def is_resizing(self) -> bool:
        """Whether `update` does anything."""
        return self._isolation.is_resizing

    def find(self, container_id: ContainerId) -> Container | None:
        """A container that was launched and is not forgotten, running or ended."""
        return self._tree.find(container_id)

    def children(self, container_id: ContainerId) -> list[Container]:
        """The containers that were launched directly inside another and are not forgotten."""
        return self._tree.children(container_id)

    def containers(self) -> Iterator[Container]:
        """All that are not forgotten."""
        return iter(self._tree)

    async def refresh_usage(self) -> None:
        """Have what containers tell of their use new, where that takes time."""
        await self._isolation.refresh_usage()

    def is_launching(self, container_id: ContainerId) -> bool:
        """Whether a launch of this container is under way."""
        return self._tree.is_launching(container_id)

    async def wait_launched(self, container_id: ContainerId) -> None:
        """Return when no launch of this container is under way."""
        await self._tree.wait_launched(container_id)

    def abort(self, container_id: ContainerId) -> bool:
        """End a launch that is under way (it may fetch for long): `launch` raises. False if there is none."""
        return self._tree.abort(container_id)

    async def update(self, container_id: ContainerId, shares: Shares) -> bool:
        """A container's shares are these from now on (`ContainerConfig.shares`, and its own).

        As `Isolation.update`; raises IsolationFailed. False, too, for one that has ended or is not known.
        """
        container = self._tree.find(container_id)
        if container is None or container.termination is not None:
            return False
        return await self._isolation.update(container_id, shares)

    async def prune_images(self, excluded: Collection[mesos_pb2.Image]) -> None:
        """Remove all images that no container has, but these. Raises ImageError."""
        if self._parts.roots.images is not None:
            await self._parts.roots.images.prune(excluded)

    def forget(self, container_id: ContainerId) -> None:
        """How a container ended needs to be known no longer, not even after a restart. Idempotent."""
        for container in self._tree.remove(container_id):
            self._runtime_dir.remove(container.id)
            if container.config.kind in _OF_FRAMEWORKS and container.directory:
                self.collector.add(container.directory)

    async def remove(self, container: Container) -> None:
        """Forget a container that has ended, and remove its sandbox. Raises OSError (and forgets nothing then)."""
        await asyncio.to_thread(self._remove_sandbox, container)
        self.forget(container.id)

    def _remove_sandbox(self, container: Container) -> None:
        parent = self._tree.find(container.id.parent) if container.id.parent is not None else None
        if parent is None:
            remove_tree(container.directory)
        else:
            remove_nested_sandbox(parent.directory, container.id.value)

    async def close(self, *, end_detached: bool = False, timeout_s: float = 30.0) -> None:
        """End all containers that do not outlive the agent (with `end_detached` those, too); then nothing is left.

        But for what is held by somebody who does not answer in time: that the next agent ends. Idempotent.
        """
        launches = self._tree.launches()
        for launch in launches:
            launch.cancel()
        await asyncio.gather(*launches, return_exceptions=True)
        await self.collector.close()
        await self.fetcher.close()
        await self._supervisors.close(end_detached=end_detached)
        containers = list(self._tree)
        ends = await _wait_ends(containers, timeout_s)
        await self._orphans.close()
        await self._parts.close()
        for container, end in zip(containers, ends, strict=True):
            if isinstance(end, Termination) and (end_detached or _ends_with_agent(container)):
                self._runtime_dir.remove(container.id.root)
        await self._runtime_dir.wait_removed()
        self._runtime_dir.unlock()

    async def _launch(self, config: ContainerConfig) -> Container:
        parent = self._parent_of(config)
        config = with_default_container(config, self._default_container)
        if parent is not None:
            config = _inherited(config, parent.config)
        fault = self._refusals.fault(config)
        if fault:
            raise LaunchFailed(fault)
        config = replace(config, runtime=runtime_for(config, self._flags, self._parts, parent))
        identity = self._identity(config.user)
        looks_into = parent if config.is_debug else None
        around = Surroundings(
            identity=identity,
            environment=self._environment(looks_into.config) if looks_into else None,
        )
        _make_sandbox(config, parent, identity)
        try:
            return self._add(*await self._spawner.spawn(config, around))
        except BaseException:
            if config.kind in _OF_FRAMEWORKS:
                self.collector.add(config.directory)
            raise

    def _parent_of(self, config: ContainerConfig) -> Container | None:
        if config.id.parent is None:
            return None
        parent = self._tree.find(config.id.parent)
        if parent is None:
            raise LaunchFailed(f"Parent container {config.id.parent} does not exist")
        if parent.is_ending:
            raise LaunchFailed(f"Parent container {config.id.parent} is in 'DESTROYING' state")
        return parent

    def _identity(self, user: str) -> Identity | None:
        if not self._flags.switch_user:
            return None
        if not user and os.geteuid() == 0:
            raise LaunchFailed("neither the task nor its framework names a user, and none is root by accident")
        try:
            return identity_of(user) if user else None
        except BadUser as error:
            raise LaunchFailed(str(error)) from error

    def _environment(self, config: ContainerConfig) -> Mapping[str, str]:
        parent = self._tree.find(config.id.parent) if config.is_debug and config.id.parent is not None else None
        around = None if parent is None else self._environment(parent.config)
        return container_environment(config, self._flags, around)

    def _add(self, config: ContainerConfig, process: Supervised | Termination) -> Container:
        container = Container(config, process, parts=self._parts, end_children=self._tree.end_children)
        self._tree.add(container)
        if config.kind not in _OF_FRAMEWORKS:
            container.when_ended(lambda: self._remember(config))
        return container

    def _remember(self, config: ContainerConfig) -> None:
        """One that only calls ask for has ended: whoever asks is told, but not for ever by an agent that runs long."""
        if self._flags.gc_non_executor_container_sandboxes:
            self._collect(config)
        self._remembered.append(config.id)
        while len(self._remembered) > _MAX_REMEMBERED:
            oldest = self._tree.find(self._remembered.popleft())
            if oldest is not None and oldest.termination is not None:
                self.forget(oldest.id)

    def _collect(self, config: ContainerConfig) -> None:
        parent = self._tree.find(config.id.parent) if config.id.parent is not None else None
        if parent is not None:
            self.collector.add(parent.directory, config.id.value)
        elif config.directory:
            self.collector.add(config.directory)

    def _on_limitation(self, container_id: ContainerId, limitation: Limitation) -> None:
        container = self._tree.find(container_id)
        if container is not None:
            container.exceed(limitation)

    async def _set_nodes(self, container_id: ContainerId, wanted: tuple[Node, ...], absent: tuple[Node, ...]) -> None:
        container = self._tree.find(container_id)
        runtime = self._parts.runtime_of(container.config) if container is not None else None
        if runtime is not None:
            await runtime.set_nodes(container_id, wanted, absent)

    async def _adopt(self, container_id: ContainerId) -> Supervised | Termination:
        try:
            return await self._supervisors.adopt(str(self._runtime_dir.path_of(container_id)))
        except SupervisionError as error:
            _log.warning("container %s cannot be recovered: %s", container_id, error)
            return Termination(wait_status=None, killed=False, message=str(error))

    async def _collect_old(self) -> None:
        """What is in no use any more is to be removed in time."""
        used = {container.directory for container in self._tree}
        old = await asyncio.to_thread(old_runs, Path(self._work_dir))
        self.collector.add_old({directory: changed_s for directory, changed_s in old.items() if directory not in used})


def _was_never_run(process: Supervised | Termination) -> bool:
    return isinstance(process, Termination) and not process.has_run


def _staying(
    configs: Mapping[ContainerId, ContainerConfig], wanted: Collection[ContainerId], never: Collection[ContainerId]
) -> Mapping[ContainerId, ContainerConfig]:
    """What goes on under this agent: what is wanted and what outlives every agent, with all that is nested there."""
    standalone = {one for one, found in configs.items() if found.kind is ContainerKind.STANDALONE and found.checkpoint}
    roots = standalone.union(wanted)
    return {found: config for found, config in configs.items() if found.root in roots and found not in never}


async def _wait_ends(containers: Collection[Container], timeout_s: float) -> list[Termination | BaseException]:
    """How each has ended, once all have, or what is left of some waits for an engine that hangs, or for the kernel."""
    waits = [asyncio.ensure_future(container.wait()) for container in containers]
    late = (await asyncio.wait(waits, timeout=timeout_s))[1] if waits else set()
    for container, wait in zip(containers, waits, strict=True):
        if wait in late:
            _log.error("container %s is not gone after %g s: it is left to the next agent", container.id, timeout_s)
            container.leave()
    return await asyncio.gather(*waits, return_exceptions=True)


def _ends_with_agent(container: Container) -> bool:
    """With all that is nested in it."""
    return container.id.parent is None and not container.config.checkpoint


def _inherited(config: ContainerConfig, parent: ContainerConfig) -> ContainerConfig:
    """What a nested container has of its parent: unless it says so itself, the user; and whether it outlives the agent.

    A DEBUG one lives as long as whoever looks through it, and begins where what it looks into has begun.
    """
    if config.is_debug:
        config = replace(config, working_directory=parent.working_directory or parent.directory)
    return replace(
        config,
        user=config.user or parent.user,
        directory=f"{parent.directory}/containers/{config.id.value}",
        checkpoint=parent.checkpoint and not config.is_debug,
    )


def _make_sandbox(config: ContainerConfig, parent: Container | None, identity: Identity | None) -> None:
    owner = Owner(uid=identity.uid, gid=identity.gid) if identity else None
    try:
        if parent is not None:
            make_nested_sandbox(parent.directory, config.id.value, owner)
        else:
            make_sandbox(config.directory, owner, is_latest=config.kind is not ContainerKind.STANDALONE)
    except OSError as error:
        raise LaunchFailed(f"cannot make the sandbox {config.directory}: {error.strerror}") from error
