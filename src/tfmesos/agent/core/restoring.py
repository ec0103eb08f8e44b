"""What an agent that starts again makes of what the one before has kept.

Mesos 1.11: src/slave/slave.cpp, `Framework::recoverExecutor`. Queued tasks are not lost here: they wait for their
executor as before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from tfmesos.agent.checkpoint import Recovered, RecoveredExecutor, RecoveredFramework, RecoveredTask
from tfmesos.agent.core.actions import Action, KillContainer, StartChecks
from tfmesos.agent.core.books import Books, Deadlines
from tfmesos.agent.core.command_tasks import CommandTasks, is_checked
from tfmesos.agent.core.events import NANOSECONDS, NOTHING_SAID
from tfmesos.agent.core.launches import add_task, build_executor
from tfmesos.agent.core.records import ExecutorRecord, FrameworkRecord, Kind, Launch, Phase, TaskRecord
from tfmesos.agent.core.resizing import Resizing
from tfmesos.agent.core.texts import is_docker
from tfmesos.wire import mesos_pb2
from tfmesos.wire.tasks import remember_status
from tfmesos.wire.text import TERMINAL_STATES


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A container of the agent before that was found again, running or ended."""

    pid: int
    has_started: bool
    """Whether its program was started, not only its supervisor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """The same moment by the core's clock and by the wall's."""

    now: float
    wall: float

    def at(self, wall_s: float) -> float:
        """A moment of the wall's clock by the core's."""
        return self.now + wall_s - self.wall


class Restoration:
    """Makes records of what was kept. Of containers that were not found the caller tells afterwards that they ended."""

    def __init__(self, books: Books, deadlines: Deadlines, resizing: Resizing, commands: CommandTasks) -> None:
        self._books = books
        self._deadlines = deadlines
        self._resizing = resizing
        self._commands = commands

    def restore(self, kept: Recovered, found: Mapping[str, Found], clocks: Clocks) -> list[Action]:
        """All frameworks with their executors and tasks; what is to be done about them."""
        if kept.drain is not None and kept.drain.message is not None:
            self._books.draining = kept.drain.message.config
        for info in kept.completed.values():
            self._books.completed_frameworks.append(FrameworkRecord(info))
        actions: list[Action] = []
        for framework in kept.frameworks.values():
            actions += self._restore_framework(framework, found, clocks)
        return actions

    def _restore_framework(self, kept: RecoveredFramework, found: Mapping[str, Found], clocks: Clocks) -> list[Action]:
        framework, _ = self._books.open_framework(kept.info)
        framework.is_ending = kept.is_ending
        actions: list[Action] = []
        for executor in kept.executors.values():
            tasks = [task for task in kept.tasks.values() if task.container_id == executor.container_id]
            actions += self._restore_executor(framework, executor, tasks, found.get(executor.container_id), clocks)
        return [*actions, *self._books.settle_framework(framework)]

    def _restore_executor(
        self,
        framework: FrameworkRecord,
        kept: RecoveredExecutor,
        tasks: list[RecoveredTask],
        found: Found | None,
        clocks: Clocks,
    ) -> list[Action]:
        executor = build_executor(framework, kept.info, kept.container_id)
        if kept.is_command:
            executor.kind = Kind.COMMAND
        framework.executors[executor.executor_id] = executor
        executor.is_recovered = True
        executor.pid = found.pid if found else None
        finished = []
        for task in tasks:
            record = _restore_task(executor, task)
            if record.has_ended and not task.pending:
                finished.append(record)
        forgotten = [action for record in finished for action in self._books.complete(record)]
        if executor.kind is Kind.COMMAND:
            return [*forgotten, *self._resume_command(executor, tasks, found, clocks)]
        return [*forgotten, *self._resume_executor(executor, kept, clocks)]

    def _resume_command(
        self, executor: ExecutorRecord, tasks: list[RecoveredTask], found: Found | None, clocks: Clocks
    ) -> list[Action]:
        living = [record for record in executor.tasks.values() if not record.has_ended]
        kill = next((task.kill for task in tasks if task.kill is not None), None)
        if executor.framework.is_ending or kill is not None or not living:
            executor.move(Phase.TERMINATING)
            grace_s = max(clocks.at(kill.at_s + kill.grace_s) - clocks.now, 0.0) if kill is not None else 0.0
            return [KillContainer(executor, grace_s)]
        (record,) = living
        if record.task.state != mesos_pb2.TASK_RUNNING:
            if found is None or not found.has_started or is_docker(record.info):  # which the engine is asked about
                return []
            return self._commands.opened(executor, clocks.now, NOTHING_SAID)
        executor.move(Phase.RUNNING)
        info = record.info
        if info.HasField("max_completion_time"):
            (its,) = (task for task in tasks if task.info is info)
            started = next(one.status.timestamp for one in its.updates if one.status.state == mesos_pb2.TASK_RUNNING)
            self._deadlines.set(executor, clocks.at(started) + info.max_completion_time.nanoseconds / NANOSECONDS)
        return [StartChecks(record)] if is_checked(info) else []

    def _resume_executor(self, executor: ExecutorRecord, kept: RecoveredExecutor, clocks: Clocks) -> list[Action]:
        settings = self._books.settings
        _restore_queue(executor)
        executor.has_worked = kept.has_worked
        if kept.ending is not None or executor.framework.is_ending:
            executor.move(Phase.TERMINATING)
            ending = kept.ending
            due = clocks.at(ending.at_s + ending.grace_s) if ending is not None else clocks.now
            self._deadlines.set(executor, due)
        elif executor.has_worked:
            executor.move(Phase.RUNNING)
            self._deadlines.set(executor, clocks.now + settings.reregistration_timeout_s)
        else:
            self._deadlines.set(executor, clocks.now + settings.registration_timeout_s)
        self._resizing.recovered(executor)
        return self._resizing.ask(executor)


def _restore_task(executor: ExecutorRecord, kept: RecoveredTask) -> TaskRecord:
    record = add_task(executor, kept.info, kept.group)
    updates = kept.updates
    for update in updates:
        status = update.status
        remember_status(record.task, status)
        record.task.state = status.state
        record.uuids.append(update.uuid)
        record.has_ended = record.has_ended or status.state in TERMINAL_STATES
        if status.HasField("healthy"):
            record.healthy = status.healthy
        if status.HasField("check_status") and executor.kind is Kind.COMMAND:
            record.check_status = status.check_status
    record.is_delivered = kept.was_sent or bool(updates)
    if kept.pending or updates:
        told = kept.pending[0] if kept.pending else updates[-1]
        record.task.status_update_state = told.status.state
        record.task.status_update_uuid = told.uuid
    if kept.kill is not None:
        record.is_overdue = kept.kill.is_overdue
        record.is_killed = not kept.kill.is_overdue
        record.kill_grace_s = kept.kill.grace_s
    return record


def _restore_queue(executor: ExecutorRecord) -> None:
    """What was never given to the executor waits again, in groups as it came."""
    groups: dict[int, list[TaskRecord]] = {}
    queue: deque[list[TaskRecord]] = deque()
    for record in executor.tasks.values():
        executor.groups = max(executor.groups, record.group)
        if record.is_delivered or record.has_ended:
            continue
        if not record.group:
            queue.append([record])
        elif record.group in groups:
            groups[record.group].append(record)
        else:
            groups[record.group] = [record]
            queue.append(groups[record.group])
    executor.queue.extend(Launch(tuple(records), bool(records[0].group)) for records in queue)
