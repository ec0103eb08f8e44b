"""Tasks that the master hands over: accepted and queued, or dropped with a report (Mesos 1.11)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from tfmesos.agent.core.actions import Action, KeepTasks, StartContainer, Tell
from tfmesos.agent.core.books import MAX_COMPLETED_TASKS, Books
from tfmesos.agent.core.records import ExecutorRecord, FrameworkRecord, Kind, Launch, Reason, TaskKey, TaskRecord
from tfmesos.agent.core.reports import Reports, Status, exited_message
from tfmesos.agent.core.resizing import Resizing
from tfmesos.agent.core.texts import command_executor_name
from tfmesos.checks import empty_status
from tfmesos.wire import mesos_pb2
from tfmesos.wire.tasks import build_task

_WANTS_NEW = "Master wants to launch executor, but one already exists"
_WANTS_OLD = "No executor is expected to launch and there is none running"
_DRAINING = "Task was received while agent was already draining"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One RunTaskMessage or RunTaskGroupMessage. `executor` is None for a command task."""

    framework: mesos_pb2.FrameworkInfo
    tasks: Sequence[mesos_pb2.TaskInfo]
    executor: mesos_pb2.ExecutorInfo | None = None
    is_group: bool = False
    launches_executor: bool | None = None  # None: the master does not say

    @property
    def executor_id(self) -> str:
        return self.executor.executor_id.value if self.executor else self.tasks[0].task_id.value


class Launches:
    """Accepts tasks."""

    def __init__(self, books: Books, reports: Reports, resizing: Resizing) -> None:
        self._books = books
        self._reports = reports
        self._resizing = resizing

    def run(self, order: Order, container_id: str) -> list[Action]:
        """Queue the tasks for their executor, which is started if there is none.

        Ignored: tasks of an ending framework, and what was handed over before.
        """
        known = self._books.frameworks.get(order.framework.id.value)
        if known is not None and (known.is_ending or any(task.task_id.value in known.tasks for task in order.tasks)):
            return []
        executor = known.executors.get(order.executor_id) if known else None
        fault = self._fault(order, executor)
        if fault is not None:
            return self._drop(order, *fault)
        framework, actions = self._books.open_framework(order.framework)
        is_new = executor is None
        if executor is None:
            executor = self._add_executor(framework, order, container_id)
        launch = _queue(executor, order)
        actions.append(KeepTasks(executor, launch.tasks, is_new))
        if not is_new:
            return [*actions, *self._resizing.admit(executor)]
        self._resizing.launched(executor)
        return [*actions, StartContainer(executor)]

    def _fault(self, order: Order, executor: ExecutorRecord | None) -> tuple[Reason, str] | None:
        terminated = Status.REASON_EXECUTOR_TERMINATED
        if self._books.draining is not None:
            return Status.REASON_AGENT_DRAINING, _DRAINING
        if order.executor is not None and any(task.limits for task in order.tasks):
            return Status.REASON_GC_ERROR, "resource limits are not supported by this agent yet"
        if executor is None:
            return (terminated, _WANTS_OLD) if order.launches_executor is False else None
        if executor.is_ending:
            return terminated, f"Executor {executor.phase.name.lower()}"
        if order.launches_executor or executor.kind is Kind.COMMAND or order.executor is None:
            return terminated, _WANTS_NEW
        return None

    def _drop(self, order: Order, reason: Reason, message: str) -> list[Action]:
        """The master counts an executor that it wanted launched: its books are set right first (Mesos 1.11)."""
        actions: list[Action] = []
        if order.launches_executor and order.executor is not None:
            actions.append(Tell(exited_message(order.framework.id.value, order.executor_id, None)))
        task_ids = [task.task_id.value for task in order.tasks]
        return [*actions, *self._reports.unknown(order.framework, task_ids, message, reason)]

    def _add_executor(self, framework: FrameworkRecord, order: Order, container_id: str) -> ExecutorRecord:
        executor = build_executor(framework, order.executor or command_executor(order.tasks[0]), container_id)
        if order.executor is None:
            executor.kind = Kind.COMMAND
        framework.executors[executor.executor_id] = executor
        return executor


def build_executor(framework: FrameworkRecord, info: mesos_pb2.ExecutorInfo, container_id: str) -> ExecutorRecord:
    """The record of an executor with a program of its own."""
    return ExecutorRecord(
        framework=framework,
        info=info,
        kind=Kind.DEFAULT if info.type == mesos_pb2.ExecutorInfo.DEFAULT else Kind.CUSTOM,
        container_id=container_id,
        completed=deque(maxlen=MAX_COMPLETED_TASKS),
    )


def command_executor(task: mesos_pb2.TaskInfo) -> mesos_pb2.ExecutorInfo:
    """Mesos 1.11: the executor of a command task has the task's id."""
    info = mesos_pb2.ExecutorInfo(name=command_executor_name(task), source=task.task_id.value)
    info.executor_id.value = task.task_id.value
    return info


def add_task(executor: ExecutorRecord, info: mesos_pb2.TaskInfo, group: int) -> TaskRecord:
    """The record of a task that goes to this executor."""
    framework = executor.framework
    task = build_task(info, framework.info.id.value)
    key = TaskKey(framework.info.id.value, info.task_id.value)
    record = TaskRecord(key=key, info=info, task=task, executor=executor, group=group)
    if executor.kind is Kind.COMMAND and info.HasField("check"):
        record.check_status = empty_status(info.check)
    executor.tasks[key.task_id] = framework.tasks[key.task_id] = record
    return record


def _queue(executor: ExecutorRecord, order: Order) -> Launch:
    group = 0
    if order.is_group:
        executor.groups += 1
        group = executor.groups
    records = tuple(add_task(executor, info, group) for info in order.tasks)
    launch = Launch(records, order.is_group)
    if executor.kind is not Kind.COMMAND:
        executor.queue.append(launch)
    return launch
