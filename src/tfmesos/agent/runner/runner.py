"""Carries out what the core wants: the shell of `core`."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from google.protobuf.message import Message

from tfmesos.agent.alarm import Alarm
from tfmesos.agent.checkpoint import Recovered
from tfmesos.agent.containerizer import Container
from tfmesos.agent.core import (
    Action,
    AgentCore,
    Clocks,
    CloseStream,
    Deliver,
    Ending,
    ExecutorRecord,
    ForgetExecutor,
    ForgetFramework,
    ForgetTask,
    Found,
    KeepDrain,
    KeepEnding,
    KeepFramework,
    KeepFrameworkEnding,
    KeepKill,
    KeepTasks,
    KillContainer,
    Kind,
    OpenGate,
    Order,
    Phase,
    Report,
    Running,
    SendEvent,
    StartChecks,
    StartContainer,
    StopChecks,
    TaskKey,
    TaskRecord,
    Tell,
    UpdateContainer,
)
from tfmesos.agent.executor_api.streams import ExecutorStreams
from tfmesos.agent.runner.container_runs import ContainerRuns
from tfmesos.agent.runner.reporter import Recorder, Reporter
from tfmesos.agent.runner.task_watches import TaskWatches
from tfmesos.wire import executor_pb2, mesos_pb2

_log = logging.getLogger(__name__)


class Runner:
    """Everything between a master's order and the last acknowledgement. Give each part its events by these methods."""

    def __init__(
        self,
        core: AgentCore,
        reporter: Reporter,
        containers: ContainerRuns,
        streams: ExecutorStreams,
        watches: TaskWatches,
        recorder: Recorder,
        send: Callable[[Message], None],
    ) -> None:
        self.core = core
        self._reporter = reporter
        self._containers = containers
        self._streams = streams
        self._watches = watches
        self._recorder = recorder
        self._send = send
        self._agent_id = ""
        self._knows_executors = False
        self._loop = asyncio.get_running_loop()
        self._has_acted = asyncio.Event()
        self._alarm = Alarm(core.deadline, lambda now: self._do(core.tick(now)))
        self._performers: Mapping[type, Callable[[Any], None]] = {
            StartContainer: lambda action: self._containers.start(action.executor, self._agent_id),
            OpenGate: lambda action: self._containers.allow(action.executor),
            UpdateContainer: lambda action: self._containers.update(action.executor, action.tasks),
            KillContainer: lambda action: self._containers.kill(action.executor, action.grace_s),
            SendEvent: lambda action: self._streams.send(action.executor.container_id, action.event),
            CloseStream: lambda action: self._streams.close(action.executor.container_id),
            Tell: lambda action: self._tell(action.message),
            StartChecks: lambda action: self._watches.start(action.record, self),
            StopChecks: lambda action: self._watches.stop(action.record),
            Report: self._reporter.report,
            ForgetFramework: self._forget_framework,
            ForgetExecutor: self._note,
            ForgetTask: self._note,
            KeepDrain: self._note,
            KeepEnding: self._note,
            KeepFramework: self._note,
            KeepFrameworkEnding: self._silence,
            KeepKill: self._note,
            KeepTasks: self._note,
            Deliver: self._note,
        }

    @property
    def knows_executors(self) -> bool:
        """Whether executors of the agent before would be known by now."""
        return self._knows_executors

    def begin(self, group: asyncio.TaskGroup) -> None:
        """What runs for the tasks runs in the group."""
        self._containers.begin(group, self)

    async def close(self) -> None:
        """Report nothing more and follow nothing more. The containers are the caller's."""
        self._alarm.close()
        self._reporter.close()
        self._streams.close_all()
        await self._watches.close()
        await self._containers.close()

    def restore(self, agent_id: str, kept: Recovered, containers: Mapping[str, Container]) -> None:
        """Go on where the agent before has stopped; `containers`: those that are left of it, by id. After `begin`."""
        self._name_agent(agent_id)
        found = {
            container_id: Found(pid=container.pid, has_started=container.main_pid is not None)
            for container_id, container in containers.items()
        }
        actions = self.core.restore(kept, found, Clocks(now=self._loop.time(), wall=time.time()))
        for executor in self.core.executors():
            executor.directory = self._containers.directory_of(executor, agent_id)
        for update in kept.pending_updates():
            self._reporter.requeue(update)
        self._do(actions)
        for executor in list(self.core.executors()):
            container = containers.get(executor.container_id)
            if container is not None:
                self._containers.adopt(executor, container)
            elif executor.has_container:
                self.ended(executor, Ending(wait_status=None))

    async def wait_executors_back(self) -> None:
        """Until each executor of the agent before that had worked has subscribed, or was given up."""
        while any(
            executor.is_recovered and executor.kind is not Kind.COMMAND and executor.phase is Phase.RUNNING
            for executor in self.core.executors()
        ):
            self._has_acted.clear()
            await self._has_acted.wait()

    def joined(self, agent_id: str) -> None:
        """The agent is registered: send what is outstanding."""
        self._name_agent(agent_id)
        self._reporter.joined()

    def left(self) -> None:
        """The agent is not registered: keep updates back."""
        self._reporter.left()

    def run(self, order: Order) -> None:
        """Start tasks, with their executor if it is not there."""
        self._do(self.core.run(order, str(uuid.uuid4())))

    def kill(self, key: TaskKey, grace_s: float | None) -> None:
        """End a task for its framework."""
        _log.info("task %s of %s: kill asked for", key.task_id, key.framework_id)
        self._do(self.core.kill(key, grace_s))

    def shut_down_executor(self, framework_id: str, executor_id: str) -> None:
        """End an executor with all its tasks."""
        _log.info("executor %s of %s: shutdown asked for", executor_id, framework_id)
        self._do(self.core.shut_down_executor(framework_id, executor_id, self._loop.time()))

    def shut_down_framework(self, framework_id: str) -> None:
        """End everything of a framework that is gone."""
        self._do(self.core.shut_down_framework(framework_id, self._loop.time()))

    def update_framework(self, info: mesos_pb2.FrameworkInfo) -> None:
        """A framework describes itself anew."""
        self._do(self.core.update_framework(info))

    def message(self, framework_id: str, executor_id: str, data: bytes) -> None:
        """Bring a framework's message to its executor."""
        self._do(self.core.message(framework_id, executor_id, data))

    def acknowledge(self, key: TaskKey, update_uuid: bytes) -> None:
        """The framework has had an update."""
        if self._reporter.acknowledge(key, update_uuid):
            self._do(self.core.acknowledged(key))

    def report_unknown(self, framework: mesos_pb2.FrameworkInfo, task_ids: Sequence[str]) -> None:
        """The master knows tasks; those that are not here it is told of."""
        self._do(self.core.report_unknown(framework, task_ids))

    def drain(self, config: mesos_pb2.DrainConfig) -> None:
        """End all tasks and take no others."""
        _log.info("this agent is drained: all tasks are killed")
        self._do(self.core.drain(config, self._loop.time()))

    def forked(self, executor: ExecutorRecord, pid: int) -> None:
        """A container's supervisor waits at its gate."""
        self._do(self.core.forked(executor, pid))

    def opened(self, executor: ExecutorRecord, running: Running) -> None:
        """A container's program runs."""
        self._do(self.core.opened(executor, self._loop.time(), running))

    def failed(self, executor: ExecutorRecord, message: str) -> None:
        """A container did not come to be."""
        self._do(self.core.failed(executor, message))

    def resized(self, executor: ExecutorRecord, fault: str | None) -> None:
        """A container holds what was asked for last, or why it cannot."""
        self._do(self.core.resized(executor, fault))

    def ended(self, executor: ExecutorRecord, ending: Ending) -> None:
        """Nothing of a container is left."""
        self._do(self.core.ended(executor, ending))

    def subscribed(self, executor: ExecutorRecord, call: executor_pb2.Call.Subscribe) -> None:
        """An executor has a stream now."""
        _log.info("executor %s of %s: subscribed", executor.executor_id, executor.framework_id)
        self._do(self.core.subscribed(executor, call, self._loop.time()))

    def updated(self, executor: ExecutorRecord, status: mesos_pb2.TaskStatus) -> None:
        """An executor says what became of a task."""
        self._do(self.core.updated(executor, status))

    def messaged(self, executor: ExecutorRecord, data: bytes) -> None:
        """An executor has a message for its framework."""
        self._do(self.core.messaged(executor, data))

    def stream_lost(self, executor: ExecutorRecord) -> None:
        """An executor's stream broke."""
        _log.info("executor %s of %s: its stream is lost", executor.executor_id, executor.framework_id)
        self._do(self.core.stream_lost(executor, self._loop.time()))

    def checked(self, record: TaskRecord, status: mesos_pb2.CheckStatusInfo) -> None:
        """A task's check has another result."""
        self._do(self.core.checked(record, status))

    def health_told(self, record: TaskRecord, healthy: bool) -> None:
        """A task's health check has told something."""
        self._do(self.core.health_told(record, healthy))

    def unhealthy(self, record: TaskRecord) -> None:
        """A task's health check has failed too often."""
        _log.info("task %s of %s: unhealthy, it is killed", record.key.task_id, record.key.framework_id)
        self._do(self.core.unhealthy(record))

    def _name_agent(self, agent_id: str) -> None:
        self._knows_executors = True
        self._agent_id = agent_id
        self._streams.describe_agent(agent_id)
        self._reporter.name_agent(agent_id)

    def _do(self, actions: Sequence[Action]) -> None:
        for action in actions:
            self._performers[type(action)](action)
        self._alarm.update()
        self._has_acted.set()

    def _note(self, action: Any) -> None:
        self._recorder.note(action)

    def _silence(self, action: KeepFrameworkEnding) -> None:
        self._recorder.note(action)
        self._reporter.forget_framework(action.framework.info.id.value)

    def _forget_framework(self, action: ForgetFramework) -> None:
        framework_id = action.framework.info.id.value
        self._reporter.forget_framework(framework_id)
        self._recorder.note(action)
        _log.info("framework %s has nothing here any more", framework_id)

    def _tell(self, message: Any) -> None:
        message.slave_id.value = self._agent_id
        self._send(message)
