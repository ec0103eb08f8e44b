"""Makes containers: sandboxes with supervised programs in them, and nothing that isolates."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace

from tfmesos.agent.containerizer.config import ContainerConfig, ContainerKind
from tfmesos.agent.containerizer.container import Container
from tfmesos.agent.containerizer.errors import LaunchFailed
from tfmesos.agent.containerizer.identifiers import ContainerId
from tfmesos.agent.containerizer.refusals import config_fault
from tfmesos.agent.containerizer.tree import ContainerTree
from tfmesos.agent.containerizer.users import Identity, identity_of
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.sandboxes import Owner, make_nested_sandbox, make_sandbox
from tfmesos.supervision import ProcessSpec, SupervisionError, Supervisors

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Containerizer:
    """All containers of an agent. `start` comes first, `close` last; between them any number of launches at once."""

    def __init__(self, flags: AgentFlags, supervisors: Supervisors, host: str) -> None:
        """`host` is the address that containers on this machine are told to have."""
        self._flags = flags
        self._supervisors = supervisors
        self._host = host
        self._tree = ContainerTree()

    async def start(self) -> None:
        """Get ready."""
        await self._supervisors.start()

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
                raise
            raise LaunchFailed("the container was destroyed while it was launched") from None
        finally:
            self._tree.end_launch(config.id)

    def find(self, container_id: ContainerId) -> Container | None:
        """A container that was launched and is not forgotten, running or ended."""
        return self._tree.find(container_id)

    def children(self, container_id: ContainerId) -> list[Container]:
        """The containers that were launched directly inside another and are not forgotten."""
        return self._tree.children(container_id)

    def containers(self) -> Iterator[Container]:
        """All that are not forgotten."""
        return iter(self._tree)

    def is_launching(self, container_id: ContainerId) -> bool:
        """Whether a launch of this container is under way."""
        return self._tree.is_launching(container_id)

    def abort(self, container_id: ContainerId) -> bool:
        """End a launch that is under way (it may fetch for long): `launch` raises. False if there is none."""
        return self._tree.abort(container_id)

    def forget(self, container_id: ContainerId) -> None:
        """How a container ended needs to be known no longer, not even after a restart. Idempotent."""
        self._tree.remove(container_id)

    async def close(self) -> None:
        """End all containers and wait until nothing of them is left. Idempotent."""
        launches = self._tree.launches()
        for launch in launches:
            launch.cancel()
        await asyncio.gather(*launches, return_exceptions=True)
        await self._supervisors.close()

    async def _launch(self, config: ContainerConfig) -> Container:
        parent = self._parent_of(config)
        config = replace(config, user=config.user or (parent.config.user if parent is not None else ""))
        fault = config_fault(config)
        if fault:
            raise LaunchFailed(fault)
        identity = self._identity(config.user)
        _make_sandbox(config, parent, identity)
        spec = self._spec(config, parent, identity)
        try:
            process = await self._supervisors.launch(spec)
        except (SupervisionError, UnicodeError) as error:
            raise LaunchFailed(str(error)) from error
        container = Container(config, process, host=self._host, end_children=self._tree.end_children)
        self._tree.add(container)
        return container

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
        return identity_of(user) if user else None

    def _spec(self, config: ContainerConfig, parent: Container | None, identity: Identity | None) -> ProcessSpec:
        command = config.command
        executable, argv = ("sh", ("sh", "-c", command.value)) if command.shell else (command.value, command.arguments)
        return ProcessSpec(
            id=str(config.id),
            executable=executable,
            argv=tuple(argv),
            environment=self._environment(config),
            directory=parent.directory if config.is_debug and parent is not None else config.directory,
            stdout=f"{config.directory}/stdout",
            stderr=f"{config.directory}/stderr",
            uid=identity.uid if identity else None,
            gid=identity.gid if identity else None,
            groups=identity.groups if identity else (),
        )

    def _environment(self, config: ContainerConfig) -> Mapping[str, str]:
        """All variables of a container; a DEBUG one begins with those of the container it looks into (Mesos 1.11)."""
        parent = self._tree.find(config.id.parent) if config.is_debug and config.id.parent is not None else None
        environment = dict(self._environment(parent.config)) if parent is not None else {}
        environment.update(config.environment)
        if parent is None:
            environment["MESOS_SANDBOX"] = config.directory
        environment.update((variable.name, variable.value) for variable in config.command.environment.variables)
        environment.setdefault("PATH", DEFAULT_PATH)
        return environment


def _make_sandbox(config: ContainerConfig, parent: Container | None, identity: Identity | None) -> None:
    owner = Owner(uid=identity.uid, gid=identity.gid) if identity else None
    try:
        if parent is not None:
            make_nested_sandbox(parent.directory, config.id.value, owner)
        else:
            make_sandbox(config.directory, owner, is_latest=config.kind is not ContainerKind.STANDALONE)
    except OSError as error:
        raise LaunchFailed(f"cannot make the sandbox {config.directory}: {error.strerror}") from error
