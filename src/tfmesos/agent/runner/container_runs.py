"""Follows each executor's container from its launch to its end."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Coroutine, Iterable
from typing import Protocol

from tfmesos.agent.containerizer import (
    Container,
    ContainerConfig,
    ContainerId,
    Containerizer,
    ContainerKind,
    LaunchFailed,
)
from tfmesos.agent.containerizer.config import RuntimeName
from tfmesos.agent.core import (
    NOTHING_SAID,
    Cause,
    Ending,
    ExecutorRecord,
    Kind,
    Phase,
    Running,
    TaskRecord,
    own_grace_of,
)
from tfmesos.agent.isolators import OWN, IsolationFailed, Limitation, Shares
from tfmesos.agent.runner.environment import Environments, ExecutorPlace
from tfmesos.agent.runner.refusals import executor_refusal, refusal
from tfmesos.agent.runner.reporter import Recorder
from tfmesos.agent.sandboxes.work_dir import WorkDir
from tfmesos.resources import Resources, ResourcesError
from tfmesos.wire import mesos_pb2

_DEFAULT_EXECUTOR = "tfmesos.executors.default"
_log = logging.getLogger(__name__)


class ContainerEvents(Protocol):
    """Hears what becomes of containers; none of these waits."""

    def forked(self, executor: ExecutorRecord, pid: int) -> None:
        """The supervisor waits at its gate."""

    def opened(self, executor: ExecutorRecord, running: Running) -> None:
        """The program runs."""

    def failed(self, executor: ExecutorRecord, message: str) -> None:
        """No container came to be."""

    def resized(self, executor: ExecutorRecord, fault: str | None) -> None:
        """The container holds what was asked for last, or why it cannot."""

    def ended(self, executor: ExecutorRecord, ending: Ending) -> None:
        """Nothing of the container is left."""


class ContainerRuns:
    """The containers of executors, each followed by a task of its own."""

    def __init__(
        self,
        containerizer: Containerizer,
        work_dir: WorkDir,
        environments: Environments,
        recorder: Recorder,
        agent_pid: str,
    ) -> None:
        self._containerizer = containerizer
        self._work_dir = work_dir
        self._environments = environments
        self._recorder = recorder
        self._pid = agent_pid
        self._running: dict[str, asyncio.Task[None]] = {}
        self._allowed: set[str] = set()  # whose gate is to be opened
        self._updates: set[asyncio.Task[None]] = set()
        self._events: ContainerEvents | None = None
        self._group: asyncio.TaskGroup | None = None

    def begin(self, group: asyncio.TaskGroup, events: ContainerEvents) -> None:
        """What runs for the containers runs in the group."""
        self._group = group
        self._events = events

    async def close(self) -> None:
        """Follow none any more; no launch is under way afterwards. The containers themselves go on."""
        running = [*self._running.values(), *self._updates]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def start(self, executor: ExecutorRecord, agent_id: str) -> None:
        """Launch the executor's container, for the tasks that it has now."""
        tasks = [record.info for record in executor.tasks.values()]
        self._follow(executor, self._launch(executor, agent_id, tasks))

    def update(self, executor: ExecutorRecord, tasks: Iterable[TaskRecord]) -> None:
        """Have the container hold what the executor and these tasks need, and tell when it does."""
        assert self._group is not None
        update = self._update(executor, [record.info for record in tasks])
        updating = self._group.create_task(update, name=f"update of container {executor.container_id}")
        self._updates.add(updating)
        updating.add_done_callback(self._updates.discard)

    def adopt(self, executor: ExecutorRecord, container: Container) -> None:
        """Follow a container that was there before this agent."""
        self._follow(executor, self._go_on(executor, container))

    def allow(self, executor: ExecutorRecord) -> None:
        """Let its program start; said while it is told that the container is forked."""
        self._allowed.add(executor.container_id)

    def kill(self, executor: ExecutorRecord, grace_s: float) -> None:
        """End a container, or its launch."""
        container_id = ContainerId(executor.container_id)
        container = self._containerizer.find(container_id)
        if container is None:
            self._containerizer.abort(container_id)
        else:
            container.kill(grace_s)

    def directory_of(self, executor: ExecutorRecord, agent_id: str) -> str:
        """Its sandbox."""
        return (
            f"{self._work_dir.executor(agent_id, executor.framework_id, executor.executor_id)}/{executor.container_id}"
        )

    def fill_status(self, status: mesos_pb2.ContainerStatus) -> None:
        """Add what is known of the container that it names, also of one nested in an executor's, if that runs."""
        container = self._containerizer.find(ContainerId.from_proto(status.container_id))
        if container is not None and container.termination is None:
            status.ClearField("gpus")  # an executor may hand back what it was told before
            status.MergeFrom(container.status())

    def _follow(self, executor: ExecutorRecord, run: Coroutine[None, None, None]) -> None:
        assert self._group is not None
        running = self._group.create_task(run, name=f"container {executor.container_id}")
        self._running[executor.container_id] = running
        running.add_done_callback(lambda _: self._running.pop(executor.container_id, None))

    async def _update(self, executor: ExecutorRecord, tasks: Iterable[mesos_pb2.TaskInfo]) -> None:
        assert self._events is not None
        try:
            shares = {OWN: Resources.from_proto(executor.info.resources), **_shares(tasks)}
            is_there = await self._containerizer.update(ContainerId(executor.container_id), shares)
        except (IsolationFailed, ResourcesError) as error:
            _log.warning("container %s: cannot be resized: %s", executor.container_id, error)
            self._events.resized(executor, str(error))
        else:
            if is_there:  # else its end is told
                self._events.resized(executor, None)

    async def _launch(self, executor: ExecutorRecord, agent_id: str, tasks: Iterable[mesos_pb2.TaskInfo]) -> None:
        assert self._events is not None
        try:
            container = await self._containerizer.launch(self._config(executor, agent_id, tasks))
        except (LaunchFailed, ResourcesError) as error:
            self._events.failed(executor, str(error))
            return
        except Exception as error:  # a fault of ours that one task brings about must not end all others
            _log.exception("container %s: its launch has failed unexpectedly", executor.container_id)
            self._events.failed(executor, f"unexpected error of the agent: {error!r}")
            return
        self._events.forked(executor, container.pid)
        if executor.container_id in self._allowed:
            self._allowed.discard(executor.container_id)
            await self._recorder.wait_written()
            await container.open_gate()
            await self._tell_running(executor, container)
        await self._wait(executor, container)

    async def _go_on(self, executor: ExecutorRecord, container: Container) -> None:
        """The agent before may not have heard yet that it runs."""
        if executor.kind is Kind.COMMAND and executor.phase is Phase.REGISTERING and container.main_pid is not None:
            await self._tell_running(executor, container)
        await self._wait(executor, container)

    async def _tell_running(self, executor: ExecutorRecord, container: Container) -> None:
        """One that its engine has not started ends without having run (Mesos 1.11: its docker executor)."""
        assert self._events is not None
        news = await container.wait_running()
        if news is not None:
            self._events.opened(executor, Running(data=news.data, ip_address=news.ip_address))
        elif container.config.runtime is not RuntimeName.DOCKER:
            self._events.opened(executor, NOTHING_SAID)

    async def _wait(self, executor: ExecutorRecord, container: Container) -> None:
        assert self._events is not None
        termination = await container.wait()
        ending = Ending(
            wait_status=termination.wait_status,
            message=termination.message,
            cause=_cause(container.limitation) if container.limitation is not None else None,
        )
        self._events.ended(executor, ending)
        await self._recorder.wait_written()  # else a next agent would know neither the end nor the container
        self._containerizer.forget(container.id)

    def _config(self, executor: ExecutorRecord, agent_id: str, tasks: Iterable[mesos_pb2.TaskInfo]) -> ContainerConfig:
        framework = executor.framework.info
        executor.directory = self.directory_of(executor, agent_id)
        place = ExecutorPlace(
            agent_id=agent_id,
            agent_pid=self._pid,
            executor_id=executor.executor_id,
            directory=executor.directory,
            shutdown_grace_s=own_grace_of(executor.info),
        )
        if executor.kind is Kind.COMMAND:
            return self._command_config(executor, place)
        _raise_if(executor_refusal(executor.info, framework))
        info, command = executor.info, _command_of(executor)
        return ContainerConfig(
            id=ContainerId(executor.container_id),
            kind=ContainerKind.EXECUTOR,
            command=command,
            directory=executor.directory,
            user=command.user or framework.user,
            container=info.container if info.HasField("container") else None,
            resources=tuple(info.resources),
            shares=_shares(tasks) if self._containerizer.is_resizing else {},
            environment=self._environments.of_executor(framework, place),
            checkpoint=framework.checkpoint,
        )

    def _command_config(self, executor: ExecutorRecord, place: ExecutorPlace) -> ContainerConfig:
        framework, task = executor.framework.info, next(iter(executor.tasks.values())).info
        _raise_if(refusal(task, framework))
        return ContainerConfig(
            id=ContainerId(executor.container_id),
            kind=ContainerKind.COMMAND_TASK,
            command=task.command,
            directory=executor.directory,
            user=task.command.user or framework.user,
            container=task.container if task.HasField("container") else None,
            resources=tuple(task.resources),
            environment=self._environments.of_task(task, framework, place),
            checkpoint=framework.checkpoint,
        )


def _shares(tasks: Iterable[mesos_pb2.TaskInfo]) -> Shares:
    """What each of these tasks needs. Raises ResourcesError."""
    return {task.task_id.value: Resources.from_proto(task.resources) for task in tasks}


def _cause(limitation: Limitation) -> Cause:
    return Cause(reason=limitation.reason, message=limitation.message, limitation=limitation.resources)


def _raise_if(fault: str | None) -> None:
    if fault:
        raise LaunchFailed(fault)


def _command_of(executor: ExecutorRecord) -> mesos_pb2.CommandInfo:
    """The executor's own command; the default executor's is this agent's (a sandbox must not shadow its modules)."""
    if executor.kind is Kind.CUSTOM:
        return executor.info.command
    command = mesos_pb2.CommandInfo(shell=False, value=sys.executable)
    command.arguments.extend([sys.executable, "-I", "-m", _DEFAULT_EXECUTOR])
    return command
