"""What executors' containers hold while their tasks come and go (Mesos 1.11: slave.cpp, containerizer->update).

A container is launched for the tasks that come with its executor. It grows before others are delivered, and shrinks
after a task's end before that is told: else the master would offer anew what is still in use. At most one update of a
container is under way; what has changed meanwhile is in the next. The end of a container frees all.

Where nothing isolates containers none of this is done.
"""

from __future__ import annotations

from collections.abc import Iterable

from tfmesos.agent.core.actions import Action, Deliver, SendEvent, UpdateContainer
from tfmesos.agent.core.books import Books
from tfmesos.agent.core.events import acknowledged_event, launch_event
from tfmesos.agent.core.records import ExecutorRecord, Kind, Launch, Phase, TaskRecord
from tfmesos.agent.core.reports import Reports, Status
from tfmesos.wire import mesos_pb2

_FAILED = "Failed to update resources for container"
End = tuple[TaskRecord, mesos_pb2.TaskStatus]
"""A task, and the last that is said of it."""


class Resizing:
    """Lets tasks in and out of executors that have a program of their own."""

    def __init__(self, books: Books, reports: Reports) -> None:
        self._is_on = books.settings.resizes_containers
        self._reports = reports

    def launched(self, executor: ExecutorRecord) -> None:
        """The container is launched for the tasks that are there."""
        executor.granted = frozenset(executor.tasks)

    def recovered(self, executor: ExecutorRecord) -> None:
        """Nobody knows how far the agent before has come with it."""
        executor.granted = None

    def admit(self, executor: ExecutorRecord) -> list[Action]:
        """Give a subscribed executor what is queued for it, as soon as its container is ready for that."""
        asked = self.ask(executor)
        if executor.phase is not Phase.RUNNING or not executor.is_subscribed:
            return asked
        actions: list[Action] = []
        while executor.queue and self._is_ready(executor, executor.queue[0]):
            launch = executor.queue.popleft()
            for record in launch.tasks:
                record.is_delivered = True
            executor.has_worked = True
            actions += [Deliver(executor, launch.tasks), SendEvent(executor, launch_event(launch))]
        return [*actions, *asked]

    def ask(self, executor: ExecutorRecord) -> list[Action]:
        """Have the container hold what is needed, if it does not."""
        if not self._is_resized(executor) or not executor.pid or executor.growing is not None:
            return []
        wanted = [record for record in executor.tasks.values() if _has_need(record)]
        names = frozenset(record.key.task_id for record in wanted)
        if names == executor.granted:
            return []
        executor.growing = names
        return [UpdateContainer(executor, wanted)]

    def dismiss(self, executor: ExecutorRecord, ends: Iterable[End]) -> list[Action]:
        """Report ends of its tasks, each as soon as the container does not hold what the task needed."""
        actions: list[Action] = []
        for record, status in ends:
            if self._is_resized(executor) and _may_hold(executor, record):
                record.withheld = status
            else:
                actions += self._told(record, status)
        return [*actions, *self.ask(executor)]

    def resized(self, executor: ExecutorRecord) -> list[Action]:
        """The container holds what was asked for last."""
        if executor.growing is None or not executor.has_container:
            return []
        executor.granted, executor.growing = executor.growing, None
        return [*self._let_go(executor), *self.admit(executor)]

    def failed(self, executor: ExecutorRecord, fault: str) -> list[Action] | None:
        """It cannot: what it was to grow for fails. None if it was not to grow: the container is of no use then."""
        if executor.growing is None or not executor.has_container:
            return []
        more = executor.growing - (executor.granted or frozenset())
        executor.growing = executor.granted = None
        refused = [launch for launch in executor.queue if any(record.key.task_id in more for record in launch.tasks)]
        if not refused:
            return None
        for launch in refused:
            executor.queue.remove(launch)
        records = [record for launch in refused for record in launch.tasks]
        return self.dismiss(executor, [(record, self._refusal(record, fault)) for record in records])

    def release(self, executor: ExecutorRecord) -> list[Action]:
        """The container is gone: it holds nothing."""
        executor.growing, executor.granted = None, frozenset()
        return self._let_go(executor)

    def _is_resized(self, executor: ExecutorRecord) -> bool:
        return self._is_on and executor.kind is not Kind.COMMAND and executor.has_container

    def _is_ready(self, executor: ExecutorRecord, launch: Launch) -> bool:
        if not self._is_on:
            return True
        granted = executor.granted or frozenset()
        return all(record.key.task_id in granted for record in launch.tasks)

    def _refusal(self, record: TaskRecord, fault: str) -> mesos_pb2.TaskStatus:
        return self._reports.own_status(
            record,
            mesos_pb2.TASK_FAILED,
            message=f"{_FAILED}: {fault}",
            reason=Status.REASON_CONTAINER_UPDATE_FAILED,
            source=Status.SOURCE_AGENT,
        )

    def _let_go(self, executor: ExecutorRecord) -> list[Action]:
        actions: list[Action] = []
        for record in list(executor.tasks.values()):
            if record.withheld is not None and not _may_hold(executor, record):
                status, record.withheld = record.withheld, None
                actions += self._told(record, status)
        return actions

    def _told(self, record: TaskRecord, status: mesos_pb2.TaskStatus) -> list[Action]:
        """An executor hears that the agent answers for its update only when it does."""
        uuid, is_its = status.uuid, status.source == Status.SOURCE_EXECUTOR
        told = self._reports.given(record, status)
        if not is_its or not record.executor.has_container:
            return told
        return [*told, SendEvent(record.executor, acknowledged_event(record.key.task_id, uuid))]


def _has_need(record: TaskRecord) -> bool:
    """What an executor that is to end was not given yet, it never will be."""
    return not record.is_over and (record.is_delivered or not record.executor.is_ending)


def _may_hold(executor: ExecutorRecord, record: TaskRecord) -> bool:
    """Whether the container may hold what the task needed."""
    task_id = record.key.task_id
    return executor.granted is None or task_id in executor.granted or task_id in (executor.growing or ())
