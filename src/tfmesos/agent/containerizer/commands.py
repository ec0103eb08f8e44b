"""Command tasks without an executor process: a supervisor per container, a sandbox, and nothing that isolates."""

from __future__ import annotations

import os
from dataclasses import dataclass

from tfmesos.agent.containerizer.environment import common_environment, task_environment
from tfmesos.agent.containerizer.protocol import ContainerPlace, LaunchFailed
from tfmesos.agent.containerizer.refusals import refusal
from tfmesos.agent.containerizer.users import Identity, identity_of
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.sandboxes import Owner, WorkDir, id_fault
from tfmesos.supervision import ProcessSpec, Supervised, SupervisionError, Supervisors, Termination
from tfmesos.wire import mesos_pb2


@dataclass(frozen=True, slots=True)
class CommandContainer:
    """A supervised command in its sandbox."""

    directory: str
    _supervised: Supervised

    @property
    def pid(self) -> int:
        return self._supervised.pid

    async def open_gate(self) -> None:
        await self._supervised.release()

    def kill(self, grace_s: float) -> None:
        self._supervised.kill(grace_s)

    async def wait(self) -> Termination:
        return await self._supervised.wait()


class CommandContainerizer:
    """Runs commands under supervisors, with the rights and the view of the machine that their users have."""

    def __init__(self, flags: AgentFlags, work_dir: WorkDir, supervisors: Supervisors) -> None:
        self._flags = flags
        self._environment = common_environment(flags)
        self._work_dir = work_dir
        self._supervisors = supervisors

    async def start(self) -> None:
        await self._supervisors.start()

    async def launch(self, task: mesos_pb2.TaskInfo, place: ContainerPlace) -> CommandContainer:
        fault = refusal(task) or id_fault("framework id", place.framework.id.value)
        if fault:
            raise LaunchFailed(fault)
        identity = self._identity(task, place)
        directory = self._make_sandbox(place, identity)
        try:
            supervised = await self._supervisors.launch(self._spec(task, place, directory, identity))
        except (SupervisionError, UnicodeError) as error:
            raise LaunchFailed(str(error)) from error
        return CommandContainer(directory, supervised)

    async def close(self) -> None:
        await self._supervisors.close()

    def _identity(self, task: mesos_pb2.TaskInfo, place: ContainerPlace) -> Identity | None:
        user = task.command.user or place.framework.user
        if not self._flags.switch_user:
            return None
        if not user and os.geteuid() == 0:
            raise LaunchFailed("neither the task nor its framework names a user, and none is root by accident")
        return identity_of(user) if user else None

    def _make_sandbox(self, place: ContainerPlace, identity: Identity | None) -> str:
        runs = self._work_dir.executor(place.agent_id, place.framework.id.value, place.executor_id)
        owner = Owner(uid=identity.uid, gid=identity.gid) if identity else None
        try:
            return self._work_dir.make_sandbox(runs, place.container_id, owner)
        except OSError as error:
            raise LaunchFailed(f"cannot make the sandbox {runs}: {error.strerror}") from error

    def _spec(
        self, task: mesos_pb2.TaskInfo, place: ContainerPlace, directory: str, identity: Identity | None
    ) -> ProcessSpec:
        command = task.command
        executable, argv = ("sh", ("sh", "-c", command.value)) if command.shell else (command.value, command.arguments)
        return ProcessSpec(
            id=place.container_id,
            executable=executable,
            argv=tuple(argv),
            environment=task_environment(self._environment, task, place, directory),
            directory=directory,
            stdout=f"{directory}/stdout",
            stderr=f"{directory}/stderr",
            uid=identity.uid if identity else None,
            gid=identity.gid if identity else None,
            groups=identity.groups if identity else (),
        )
