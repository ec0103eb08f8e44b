"""What executors say by the executor API (Mesos 1.11: src/slave/slave.cpp)."""

from __future__ import annotations

from tfmesos.agent.core.actions import Action, CloseStream, Report, SendEvent, Tell
from tfmesos.agent.core.books import Books, Deadlines
from tfmesos.agent.core.events import Event, acknowledged_event, kill_event
from tfmesos.agent.core.executor_tasks import ExecutorTasks
from tfmesos.agent.core.records import ExecutorRecord, Phase, TaskKey
from tfmesos.agent.core.reports import Reports
from tfmesos.agent.core.resizing import Resizing
from tfmesos.wire import executor_pb2, internal_pb2, mesos_pb2
from tfmesos.wire.text import TERMINAL_STATES


class ExecutorCalls:
    """SUBSCRIBE, UPDATE and MESSAGE of executors that are known and whose calls are valid."""

    def __init__(
        self, books: Books, deadlines: Deadlines, reports: Reports, resizing: Resizing, executors: ExecutorTasks
    ) -> None:
        self._books = books
        self._resizing = resizing
        self._executors = executors
        self._deadlines = deadlines
        self._reports = reports

    def subscribed(self, executor: ExecutorRecord, call: executor_pb2.Call.Subscribe, now: float) -> list[Action]:
        """The executor has a stream now. One that is to end is told so, and its stream closed."""
        if executor.is_ending or executor.framework.is_ending:
            return [SendEvent(executor, Event(type=Event.SHUTDOWN)), CloseStream(executor)]
        if executor.phase is Phase.REGISTERING:
            executor.move(Phase.RUNNING)
        self._deadlines.set(executor, None)
        executor.is_subscribed = True
        executor.is_recovered = False
        told = SendEvent(executor, _subscribed_event(executor))
        actions = self._catch_up(executor, call)
        if not executor.has_worked and not executor.queue:
            return [told, *actions, *self._executors.shut_down(executor, now)]
        return [told, *actions, *self._resizing.admit(executor)]

    def updated(self, executor: ExecutorRecord, status: mesos_pb2.TaskStatus) -> list[Action]:
        """A status update. It is acknowledged as soon as this agent answers for it; a repeated one, too.

        A task's last one the agent may have to keep to itself for a while (Resizing).

        Nothing is said of a framework that is shut down, of a task after its end, or before the executor was given it.
        """
        if executor.framework.is_ending:
            return []
        acknowledged = SendEvent(executor, acknowledged_event(status.task_id.value, status.uuid))
        record = executor.tasks.get(status.task_id.value)
        if record is None:
            return [*self._report_unknown(executor, status), acknowledged]
        if status.uuid in record.uuids:
            is_withheld = record.withheld is not None and record.withheld.uuid == status.uuid
            return [] if is_withheld else [acknowledged]
        if record.is_over or not record.is_delivered:
            self._books.counts["invalid_status_updates"] += 1
            return [acknowledged]
        self._books.counts["valid_status_updates"] += 1
        record.uuids.append(status.uuid)
        if status.state in TERMINAL_STATES:
            return self._resizing.dismiss(executor, [(record, status)])
        return [*self._reports.given(record, status), acknowledged]

    def messaged(self, executor: ExecutorRecord, data: bytes) -> list[Action]:
        """A message for the framework."""
        message = internal_pb2.ExecutorToFrameworkMessage(data=data)
        message.framework_id.value = executor.framework_id
        message.executor_id.value = executor.executor_id
        return [Tell(message)]

    def _catch_up(self, executor: ExecutorRecord, call: executor_pb2.Call.Subscribe) -> list[Action]:
        """What the executor has done without the agent, what it never heard of, and the kills it may have missed."""
        actions: list[Action] = []
        for update in call.unacknowledged_updates:
            actions += self.updated(executor, update.status)
        known = {task.task_id.value for task in call.unacknowledged_tasks}
        missing = [
            record
            for record in executor.tasks.values()
            if record.is_delivered
            and not record.is_over
            and record.task.state == mesos_pb2.TASK_STAGING
            and record.key.task_id not in known
        ]
        actions += self._resizing.dismiss(executor, [(record, self._reports.lost_status(record)) for record in missing])
        killed = [record for record in executor.tasks.values() if record.is_killed and not record.is_over]
        return [*actions, *(SendEvent(executor, kill_event(record)) for record in killed)]

    def _report_unknown(self, executor: ExecutorRecord, status: mesos_pb2.TaskStatus) -> list[Action]:
        """Mesos 1.11 passes on an update of a task that it does not know, as it is; not of one that has ended."""
        task_id = status.task_id.value
        before = next((record for record in executor.completed if record.key.task_id == task_id), None)
        if before is not None:
            self._books.counts["invalid_status_updates"] += 1
            return []
        self._books.counts["valid_status_updates"] += 1
        return [Report(key=TaskKey(executor.framework_id, task_id), status=status)]


def _subscribed_event(executor: ExecutorRecord) -> executor_pb2.Event:
    """Without the agent's description, which is not the core's."""
    event = Event(type=Event.SUBSCRIBED)
    event.subscribed.executor_info.CopyFrom(executor.info)
    event.subscribed.framework_info.CopyFrom(executor.framework.info)
    event.subscribed.container_id.value = executor.container_id
    return event
