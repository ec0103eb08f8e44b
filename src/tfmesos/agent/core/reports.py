"""What frameworks are told of tasks: the one place where a task changes its state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tfmesos.agent.core.actions import Action, Report
from tfmesos.agent.core.books import Books
from tfmesos.agent.core.records import (
    Capability,
    ExecutorRecord,
    Reason,
    Source,
    State,
    TaskKey,
    TaskRecord,
    has_capability,
)
from tfmesos.wire import internal_pb2, mesos_pb2
from tfmesos.wire.text import TERMINAL_STATES, state_name

Status = mesos_pb2.TaskStatus
BEFORE_DELIVERY = "Killed before delivery to the executor"
_RESTARTED = "Task launched during agent restart"


class Reports:
    """Makes the reports; of a framework that is shut down there are none."""

    def __init__(self, books: Books) -> None:
        self._books = books

    def own(
        self,
        record: TaskRecord,
        state: State,
        *,
        message: str = "",
        reason: Reason | None = None,
        source: Source = Status.SOURCE_EXECUTOR,
        limitation: Sequence[mesos_pb2.Resource] = (),
    ) -> list[Action]:
        """What this agent says of a task, for itself or for a command task's executor."""
        status = self.own_status(record, state, message=message, reason=reason, source=source, limitation=limitation)
        return self.given(record, status)

    def own_status(
        self,
        record: TaskRecord,
        state: State,
        *,
        message: str = "",
        reason: Reason | None = None,
        source: Source = Status.SOURCE_EXECUTOR,
        limitation: Sequence[mesos_pb2.Resource] = (),
    ) -> mesos_pb2.TaskStatus:
        """The same, not told yet."""
        status = Status(state=state, source=source)
        if message:
            status.message = message
        if reason is not None:
            status.reason = reason
        if limitation:
            status.limitation.resources.extend(limitation)
        if source == Status.SOURCE_EXECUTOR:
            _add_findings(record, status)
        return status

    def given(self, record: TaskRecord, status: mesos_pb2.TaskStatus) -> list[Action]:
        """A status of a task as its executor said it."""
        if record.executor.framework.is_ending:
            record.has_ended = record.has_ended or status.state in TERMINAL_STATES
            return []
        self._mark_drained(record, status)
        status.task_id.value = record.key.task_id
        record.task.state = status.state
        if status.state in TERMINAL_STATES:
            record.has_ended = True
            self._books.counts[state_name(status.state).lower().replace("task_", "tasks_")] += 1
        return [Report(key=record.key, status=status, record=record)]

    def lost_in_restart(self, record: TaskRecord) -> list[Action]:
        """It was handed over, but nothing of it ran when the agent before was lost."""
        return self.given(record, self.lost_status(record))

    def lost_status(self, record: TaskRecord) -> mesos_pb2.TaskStatus:
        """The same, not told yet."""
        is_aware = record.executor.framework.has_capability(Capability.PARTITION_AWARE)
        return self.own_status(
            record,
            mesos_pb2.TASK_DROPPED if is_aware else mesos_pb2.TASK_LOST,
            message=_RESTARTED,
            reason=Status.REASON_AGENT_RESTARTED,
            source=Status.SOURCE_AGENT,
        )

    def undelivered_status(self, record: TaskRecord, message: str = BEFORE_DELIVERY) -> mesos_pb2.TaskStatus:
        """It was killed before its executor, or its command, was given it; not told yet."""
        return self.own_status(
            record,
            mesos_pb2.TASK_KILLED,
            message=message,
            reason=Status.REASON_TASK_KILLED_DURING_LAUNCH,
            source=Status.SOURCE_AGENT,
        )

    def unknown(
        self, info: mesos_pb2.FrameworkInfo, task_ids: Iterable[str], message: str, reason: Reason
    ) -> list[Action]:
        """Of tasks that are not here, or that were not taken."""
        state = mesos_pb2.TASK_DROPPED if has_capability(info, Capability.PARTITION_AWARE) else mesos_pb2.TASK_LOST
        reports: list[Action] = []
        for task_id in task_ids:
            status = Status(state=state, source=Status.SOURCE_AGENT, message=message, reason=reason)
            status.task_id.value = task_id
            self._books.counts[state_name(state).lower().replace("task_", "tasks_")] += 1
            reports.append(Report(key=TaskKey(info.id.value, task_id), status=status))
        return reports

    def _mark_drained(self, record: TaskRecord, status: mesos_pb2.TaskStatus) -> None:
        """Mesos 1.11: what is killed while the agent is drained says so."""
        draining = self._books.draining
        if draining is None or status.state not in (mesos_pb2.TASK_KILLING, mesos_pb2.TASK_KILLED):
            return
        status.reason = Status.REASON_AGENT_DRAINING
        is_aware = record.executor.framework.has_capability(Capability.PARTITION_AWARE)
        if draining.mark_gone and is_aware and status.state == mesos_pb2.TASK_KILLED:
            status.state = mesos_pb2.TASK_GONE_BY_OPERATOR


def _add_findings(record: TaskRecord, status: mesos_pb2.TaskStatus) -> None:
    """What checks have found (Mesos 1.11: at its end a task is unhealthy only if it was killed for that)."""
    if record.check_status is not None:
        status.check_status.CopyFrom(record.check_status)
    if record.healthy is not None and status.state == mesos_pb2.TASK_RUNNING:
        status.healthy = record.healthy
    if record.is_unhealthy and status.state in TERMINAL_STATES:
        status.healthy = False


def exited(executor: ExecutorRecord, wait_status: int | None) -> internal_pb2.ExitedExecutorMessage:
    """Tells the master that an executor with a program of its own is gone."""
    return exited_message(executor.framework_id, executor.executor_id, wait_status)


def exited_message(framework_id: str, executor_id: str, wait_status: int | None) -> internal_pb2.ExitedExecutorMessage:
    """The same of an executor that has no record."""
    message = internal_pb2.ExitedExecutorMessage(status=-1 if wait_status is None else wait_status)
    message.framework_id.value = framework_id
    message.executor_id.value = executor_id
    return message
