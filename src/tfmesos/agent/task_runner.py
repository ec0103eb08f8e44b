"""Runs tasks and reports on them: the shell of `tasks` and `status_updates`."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Sequence
from typing import assert_never

from tfmesos.agent.alarm import Alarm
from tfmesos.agent.containerizer import (
    Container,
    ContainerConfig,
    ContainerId,
    Containerizer,
    ContainerKind,
    LaunchFailed,
)
from tfmesos.agent.environment import TaskPlace, common_environment, task_environment
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.refusals import refusal
from tfmesos.agent.sandboxes import WorkDir
from tfmesos.agent.status_updates import StatusUpdates, TaskKey
from tfmesos.agent.task_records import Phase, TaskRecord
from tfmesos.agent.tasks import (
    Action,
    Ending,
    ForgetFramework,
    KillContainer,
    Report,
    StartContainer,
    Tasks,
    unknown,
)
from tfmesos.transport import Pid
from tfmesos.wire import internal_pb2, mesos_pb2
from tfmesos.wire.tasks import remember_status
from tfmesos.wire.text import state_name

_log = logging.getLogger(__name__)
_Status = mesos_pb2.TaskStatus


class TaskRunner:
    """Everything between a RunTaskMessage and the last acknowledgement."""

    def __init__(
        self,
        tasks: Tasks,
        containerizer: Containerizer,
        work_dir: WorkDir,
        flags: AgentFlags,
        agent_pid: Pid,
        send: Callable[[internal_pb2.StatusUpdateMessage | internal_pb2.ExitedExecutorMessage], None],
    ) -> None:
        self.tasks = tasks
        self.updates = StatusUpdates()
        self._containerizer = containerizer
        self._work_dir = work_dir
        self._environment = common_environment(flags)
        self._pid = str(agent_pid)
        self._host = agent_pid.host
        self._send = send
        self._agent_id = ""
        self._containers: dict[str, Container] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._group: asyncio.TaskGroup | None = None
        self._loop = asyncio.get_running_loop()
        self._overdue = Alarm(tasks.deadline, lambda now: self._do(tasks.tick(now)))
        self._retries = Alarm(self.updates.deadline, lambda now: self._forward(self.updates.retry(now)))

    def begin(self, group: asyncio.TaskGroup) -> None:
        """What runs for the tasks runs in the group."""
        self._group = group

    async def close(self) -> None:
        """Report nothing more, end all containers and wait until nothing is left of them."""
        self._overdue.close()
        self._retries.close()
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)  # no launch is under way when the containers are ended
        await self._containerizer.close()

    def joined(self, agent_id: str) -> None:
        """The agent is registered: send what is outstanding."""
        self._agent_id = agent_id
        self._forward(self.updates.resume(self._loop.time()))

    def left(self) -> None:
        """The agent is not registered: keep updates back."""
        self.updates.pause()

    def run(self, framework: mesos_pb2.FrameworkInfo, task: mesos_pb2.TaskInfo) -> None:
        """Start a task."""
        self._do(self.tasks.run(framework, task, str(uuid.uuid4())))

    def kill(self, key: TaskKey, grace_s: float | None) -> None:
        """End a task for its framework."""
        _log.info("task %s of %s: kill asked for", key.task_id, key.framework_id)
        self._do(self.tasks.kill(key, grace_s))

    def shut_down_framework(self, framework_id: str, grace_s: float) -> None:
        """End all tasks of a framework that is gone."""
        self.updates.forget_framework(framework_id)
        self._do(self.tasks.shut_down_framework(framework_id, grace_s))

    def acknowledge(self, key: TaskKey, update_uuid: bytes) -> None:
        """The framework has had an update."""
        done = self.updates.acknowledge(key, update_uuid, self._loop.time())
        if not done.fitted:
            _log.debug("task %s of %s: an acknowledgement that fits no update", key.task_id, key.framework_id)
        if done.send is not None:
            self._forward([done.send])
        if done.ended:
            self._do(self.tasks.acknowledged(key))

    def report_unknown(self, framework: mesos_pb2.FrameworkInfo, task_ids: Sequence[str]) -> None:
        """The master knows tasks that are not here: tell it so."""
        for task_id in task_ids:
            key = TaskKey(framework.id.value, task_id)
            if self.tasks.find(key) is None:
                message = "Reconciliation: task unknown to the agent"
                self._do([unknown(framework, key, message, _Status.REASON_RECONCILIATION)])

    def _do(self, actions: Sequence[Action]) -> None:
        for action in actions:
            match action:
                case StartContainer():
                    self._start(action.record)
                case KillContainer():
                    self._kill(action.record, action.grace_s)
                case Report():
                    self._report(action)
                case ForgetFramework():
                    self.updates.forget_framework(action.framework_id)
                    _log.info("framework %s has nothing here any more", action.framework_id)
                case _:
                    assert_never(action)
        self._overdue.update()

    def _start(self, record: TaskRecord) -> None:
        assert self._group is not None
        running = self._group.create_task(self._contain(record), name=f"container {record.container_id}")
        self._running[record.container_id] = running
        running.add_done_callback(lambda _: self._running.pop(record.container_id, None))

    async def _contain(self, record: TaskRecord) -> None:
        """One container from its launch to its end."""
        framework = self.tasks.frameworks[record.key.framework_id].info
        try:
            fault = refusal(record.info, framework)
            if fault:
                raise LaunchFailed(fault)
            container = await self._containerizer.launch(self._config(record, framework))
        except LaunchFailed as error:
            self._fail(record, str(error))
            return
        self._containers[record.container_id] = container
        record.directory = container.directory
        self._do(self.tasks.forked(record, container.pid))
        if record.phase is Phase.GATED:
            await container.open_gate()
            self._do(self.tasks.opened(record, self._loop.time()))
        termination = await container.wait()
        del self._containers[record.container_id]
        self._containerizer.forget(container.id)
        self._do(self.tasks.ended(record, Ending(wait_status=termination.wait_status, message=termination.message)))

    def _config(self, record: TaskRecord, framework: mesos_pb2.FrameworkInfo) -> ContainerConfig:
        task = record.info
        runs = self._work_dir.executor(self._agent_id, framework.id.value, record.executor_id)
        place = TaskPlace(
            agent_id=self._agent_id,
            agent_pid=self._pid,
            executor_id=record.executor_id,
            directory=f"{runs}/{record.container_id}",
        )
        return ContainerConfig(
            id=ContainerId(record.container_id),
            kind=ContainerKind.COMMAND_TASK,
            command=task.command,
            container=task.container if task.HasField("container") else None,
            resources=tuple(task.resources),
            user=task.command.user or framework.user,
            directory=place.directory,
            environment=task_environment(self._environment, task, framework, place),
        )

    def _fail(self, record: TaskRecord, message: str) -> None:
        if record.info.HasField("executor"):  # the master counts this executor as running: set its books right first
            gone = internal_pb2.ExitedExecutorMessage(status=-1)
            gone.slave_id.value = self._agent_id
            gone.framework_id.value = record.key.framework_id
            gone.executor_id.value = record.executor_id
            self._send(gone)
        self._do(self.tasks.failed(record, message))

    def _kill(self, record: TaskRecord, grace_s: float) -> None:
        container = self._containers.get(record.container_id)
        if container is not None:
            container.kill(grace_s)

    def _report(self, report: Report) -> None:
        if self.updates.has_ended(report.key):  # the master asked again about a task that is not here
            return
        update = self._update(report)
        if report.record is not None:
            remember_status(report.record.task, update.status)
        _log.log(
            logging.DEBUG if report.state == mesos_pb2.TASK_STARTING else logging.INFO,  # RUNNING follows at once
            "task %s of %s: %s%s",
            report.key.task_id,
            report.key.framework_id,
            state_name(report.state),
            f" ({report.message})" if report.message else "",
        )
        head = self.updates.add(update, self._loop.time())
        if head is not None:
            self._forward([head])

    def _update(self, report: Report) -> internal_pb2.StatusUpdate:
        now, number = time.time(), uuid.uuid4().bytes
        status = mesos_pb2.TaskStatus(state=report.state, source=report.source, timestamp=now, uuid=number)
        status.task_id.value = report.key.task_id
        status.agent_id.value = self._agent_id
        if report.message:
            status.message = report.message
        if report.reason is not None:
            status.reason = report.reason
        update = internal_pb2.StatusUpdate(timestamp=now, uuid=number)
        update.framework_id.value = report.key.framework_id
        update.slave_id.value = self._agent_id
        if report.executor_id:
            status.executor_id.value = update.executor_id.value = report.executor_id
        if report.record is not None and report.record.pid is not None:
            self._describe_container(status.container_status, report.record)
        update.status.CopyFrom(status)
        return update

    def _describe_container(self, status: mesos_pb2.ContainerStatus, record: TaskRecord) -> None:
        status.container_id.value = record.container_id
        status.executor_pid = record.pid or 0
        status.network_infos.add().ip_addresses.add().ip_address = self._host

    def _forward(self, updates: Sequence[internal_pb2.StatusUpdate]) -> None:
        for update in updates:
            self._note_forwarded(update)
            self._send(internal_pb2.StatusUpdateMessage(update=update, pid=self._pid))
        self._retries.update()

    def _note_forwarded(self, update: internal_pb2.StatusUpdate) -> None:
        """Mesos 1.11: a re-registering agent tells of each task the last update that it has sent."""
        record = self.tasks.find(TaskKey(update.framework_id.value, update.status.task_id.value))
        if record is not None:
            record.task.status_update_state = update.status.state
            record.task.status_update_uuid = update.uuid
