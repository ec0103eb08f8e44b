"""Starts the first process of a container, kept apart from others, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tfmesos.agent.containerizer.config import ContainerConfig, ContainerKind, RuntimeName
from tfmesos.agent.containerizer.errors import LaunchFailed
from tfmesos.agent.containerizer.parts import Parts
from tfmesos.agent.containerizer.runtime_dir import RuntimeDir
from tfmesos.agent.containerizer.specification import (
    console,
    container_environment,
    prepared_config,
    process_spec,
)
from tfmesos.agent.fetcher import Fetcher, FetchFailed, FetchOrder
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.isolators import IsolationFailed, Prepared
from tfmesos.agent.uninterrupted import finish
from tfmesos.agent.users import Identity
from tfmesos.supervision import Supervised, SupervisionError, Supervisors


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a container finds when it starts: whose it is, what it inherits."""

    identity: Identity | None
    environment: Mapping[str, str] | None
    """Of the container that a DEBUG one looks into."""


class Spawner:
    """One for all containers of an agent. (Mesos calls it the launcher; what differs there is Isolation's here.)"""

    def __init__(
        self,
        flags: AgentFlags,
        supervisors: Supervisors,
        runtime_dir: RuntimeDir,
        parts: Parts,
        fetcher: Fetcher,
    ) -> None:
        self._flags = flags
        self._supervisors = supervisors
        self._runtime_dir = runtime_dir
        self._parts = parts
        self._isolation = parts.isolation
        self._fetcher = fetcher

    async def spawn(self, config: ContainerConfig, around: Surroundings) -> tuple[ContainerConfig, Supervised]:
        """The configuration with what its making adds to it, and the process, which waits at its gate.

        The sandbox is there. Raises LaunchFailed; then, and when it is cancelled, nothing of the container is left.
        """
        process = None
        try:
            record_dir = await self._record_dir(config)
            config, prepared = await self._prepare(config)
            if config.command.uris:
                await self._fetch(config, around.identity)
            process = await self._supervise(config, around, record_dir, prepared)
            if self._isolation.is_active:
                await self._isolation.isolate(config.id, process.pid)
            return config, process
        except BaseException as error:
            await finish(self._undo(config, process))
            if isinstance(error, SupervisionError | UnicodeError | IsolationFailed | FetchFailed):
                raise LaunchFailed(str(error)) from error
            raise

    async def _prepare(self, config: ContainerConfig) -> tuple[ContainerConfig, Prepared]:
        """Its root file system, what it may use, and what it sees."""
        root = await self._parts.roots.make(config)
        if root is not None:
            config = replace(config, root=root)
        if not self._isolation.is_active:
            return config, Prepared()
        prepared = await self._isolation.prepare(config)
        if config.runtime is RuntimeName.HOST and prepared.view is not None:
            prepared = replace(prepared, view=None)
        complete = prepared_config(config, prepared)
        if complete is not config and config.checkpoint:
            await self._keep(complete)
        return complete, prepared

    async def _undo(self, config: ContainerConfig, process: Supervised | None) -> None:
        if process is not None:
            process.kill(0.0)
            await process.wait()
        await self._parts.cleanup(config)
        self._runtime_dir.remove(config.id)

    def _has_record(self, config: ContainerConfig) -> bool:
        """Whether something of it is to be found by the next agent, or from outside.

        That is also what GPUs it holds: they are not free before the next agent has ended it.
        """
        if config.checkpoint or console(config) is not None:
            return True
        return self._isolation.is_resizing and (config.kind is ContainerKind.EXECUTOR or config.names_gpus)

    async def _record_dir(self, config: ContainerConfig) -> str | None:
        return await self._keep(config) if self._has_record(config) else None

    async def _keep(self, config: ContainerConfig) -> str:
        try:
            return await self._runtime_dir.add(config)
        except OSError as error:
            path = self._runtime_dir.path_of(config.id)
            raise LaunchFailed(f"cannot keep a record of it in {path}: {error.strerror}") from error

    async def _fetch(self, config: ContainerConfig, identity: Identity | None) -> None:
        order = FetchOrder(
            container_id=str(config.id),
            uris=config.command.uris,
            sandbox=config.directory,
            user=config.user,
            identity=identity,
        )
        await self._fetcher.fetch(order)

    async def _supervise(
        self, config: ContainerConfig, around: Surroundings, record_dir: str | None, prepared: Prepared
    ) -> Supervised:
        spec = process_spec(
            config,
            self._flags,
            around.identity,
            environment=container_environment(config, self._flags, around.environment),
            record_dir=record_dir,
            prepared=prepared,
        )
        runtime = self._parts.runtime_of(config)
        if runtime is not None:
            spec = await runtime.prepare(config, prepared, spec)
        return await self._supervisors.launch(spec)
