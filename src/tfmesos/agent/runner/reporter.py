"""Brings status updates to the master: the shell of `core.updates`."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Protocol

from google.protobuf.message import Message

from tfmesos.agent.alarm import Alarm
from tfmesos.agent.core import AgentCore, ExecutorRecord, Fact, Report, TaskKey
from tfmesos.agent.core.updates import StatusUpdates
from tfmesos.transport import Pid
from tfmesos.wire import internal_pb2, mesos_pb2
from tfmesos.wire.tasks import remember_status
from tfmesos.wire.text import TERMINAL_STATES, state_name

_log = logging.getLogger(__name__)
_SOURCE_EXECUTOR = mesos_pb2.TaskStatus.SOURCE_EXECUTOR


class Recorder(Protocol):
    """Writes down what a restarted agent must know. None of these waits."""

    def note(self, fact: Fact, /) -> None:
        """This is about to be carried out (of a Report only `update` is told)."""

    def update(self, update: internal_pb2.StatusUpdate) -> None:
        """From now on the agent answers for this update."""

    def acknowledged(self, key: TaskKey, uuid: bytes, /) -> None:
        """The framework has had the update."""

    async def wait_written(self) -> None:
        """Until all of that survives the end of this process: at once, unless the disk is full."""


class Reporter:
    """Everything between a report of the core and its acknowledgement."""

    def __init__(
        self,
        core: AgentCore,
        agent_pid: Pid,
        recorder: Recorder,
        fill_status: Callable[[mesos_pb2.ContainerStatus], None],
        send: Callable[[Message], None],
    ) -> None:
        """`fill_status`: adds what is known of the container that it names, if that runs. `send`: to the master."""
        self.updates = StatusUpdates()
        self._core = core
        self._recorder = recorder
        self._send = send
        self._fill_status = fill_status
        self._pid = str(agent_pid)
        self._host = agent_pid.host
        self._agent_id = ""
        self._loop = asyncio.get_running_loop()
        self._retries = Alarm(self.updates.deadline, lambda now: self._forward(self.updates.retry(now)))

    def close(self) -> None:
        """Send nothing more."""
        self._retries.close()

    def name_agent(self, agent_id: str) -> None:
        """What updates say of where they come from."""
        self._agent_id = agent_id

    def joined(self) -> None:
        """The agent is registered: send what is outstanding."""
        self._forward(self.updates.resume(self._loop.time()))

    def left(self) -> None:
        """The agent is not registered: keep updates back."""
        self.updates.pause()

    def forget_framework(self, framework_id: str) -> None:
        """Nothing of it is to be reported any more."""
        self.updates.forget_framework(framework_id)

    def requeue(self, update: internal_pb2.StatusUpdate) -> None:
        """An update of the agent before that is still to be acknowledged; comes before `joined`."""
        key = TaskKey(update.framework_id.value, update.status.task_id.value)
        if not self.updates.has_ended(key):  # else of a damaged checkpoint
            self.updates.add(update, self._loop.time())

    def report(self, report: Report) -> None:
        """Queue an update and send it as soon as it is its turn."""
        if self.updates.has_ended(report.key):  # the master asked again about a task that is not here
            return
        update = self._complete(report)
        self._recorder.update(update)
        if report.record is not None:
            remember_status(report.record.task, update.status)
        status = update.status
        _log.log(
            logging.DEBUG if status.state == mesos_pb2.TASK_STARTING else logging.INFO,  # RUNNING follows at once
            "task %s of %s: %s%s",
            report.key.task_id,
            report.key.framework_id,
            state_name(status.state),
            f" ({status.message})" if status.message else "",
        )
        head = self.updates.add(update, self._loop.time())
        if head is not None:
            self._forward([head])

    def acknowledge(self, key: TaskKey, update_uuid: bytes) -> bool:
        """The framework has had an update; whether that was the task's last."""
        done = self.updates.acknowledge(key, update_uuid, self._loop.time())
        if not done.fitted:
            _log.debug("task %s of %s: an acknowledgement that fits no update", key.task_id, key.framework_id)
            return False
        self._recorder.acknowledged(key, update_uuid)
        if done.send is not None:
            self._forward([done.send])
        return done.ended

    def _complete(self, report: Report) -> internal_pb2.StatusUpdate:
        """The update of a report: what is not said yet is filled in."""
        status, record = report.status, report.record
        now = status.timestamp or time.time()
        if not status.HasField("uuid"):
            status.uuid = uuid.uuid4().bytes
        status.agent_id.value = self._agent_id
        update = internal_pb2.StatusUpdate(timestamp=now, uuid=status.uuid)
        update.framework_id.value = report.key.framework_id
        update.slave_id.value = self._agent_id
        if record is not None:
            status.executor_id.value = update.executor_id.value = record.executor.executor_id
        if status.source != _SOURCE_EXECUTOR:
            status.timestamp = now
        elif record is not None:
            status.timestamp = now
            self._describe_container(status, record.executor)
        update.status.CopyFrom(status)
        return update

    def _describe_container(self, status: mesos_pb2.TaskStatus, executor: ExecutorRecord) -> None:
        """Of the container that the executor named, while there is one; else of the executor's own (recorded)."""
        container = status.container_status
        if not container.HasField("container_id"):
            container.container_id.value = executor.container_id
            container.executor_pid = executor.pid or 0
        elif container.container_id.HasField("parent") and status.state in TERMINAL_STATES:
            return
        self._fill_status(container)
        if not container.network_infos:
            container.network_infos.add().ip_addresses.add().ip_address = self._host

    def _forward(self, updates: Sequence[internal_pb2.StatusUpdate]) -> None:
        for update in updates:
            self._note_forwarded(update)
            self._send(internal_pb2.StatusUpdateMessage(update=update, pid=self._pid))
        self._retries.update()

    def _note_forwarded(self, update: internal_pb2.StatusUpdate) -> None:
        """Mesos 1.11: a re-registering agent tells of each task the last update that it has sent.

        How far a task that is not here has come nobody knows.
        """
        record = self._core.find(TaskKey(update.framework_id.value, update.status.task_id.value))
        if record is None:
            update.ClearField("latest_state")
        else:
            record.task.status_update_state = update.status.state
            record.task.status_update_uuid = update.uuid
