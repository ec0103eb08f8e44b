"""The life of tasks and frameworks on this agent: the pure core.

Events are its methods; each returns what is to be done, in order. Times are seconds of one monotonic clock.

Promises (tested by hypothesis): a task that was accepted gets exactly one terminal report and none after it, unless its
framework is shut down: its tasks get none from then on; a container that was forked is opened at most once and never
after a kill; a record goes when its terminal update is acknowledged and its container is gone, whichever comes last.
"""

from __future__ import annotations

import heapq
import os
import signal
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from tfmesos.agent.status_updates import TaskKey
from tfmesos.agent.task_records import FrameworkRecord, Phase, TaskRecord, build_record, has_capability
from tfmesos.wire import mesos_pb2
from tfmesos.wire.text import TERMINAL_STATES

KILL_GRACE_S = 3.0  # Mesos 1.11, when neither the KILL nor the task has a kill policy
NANOSECONDS = 1_000_000_000

_Status = mesos_pb2.TaskStatus
_Framework = mesos_pb2.FrameworkInfo.Capability


@dataclass(frozen=True, slots=True, kw_only=True)
class StartContainer:
    """Prepare a sandbox and fork the task's supervisor."""

    record: TaskRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class KillContainer:
    """End everything in the container: SIGTERM, and SIGKILL after the grace."""

    record: TaskRecord
    grace_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Tell the framework, by a reliable status update. `record` is None for a task that this agent does not have."""

    key: TaskKey
    executor_id: str
    state: mesos_pb2.TaskState.ValueType
    source: mesos_pb2.TaskStatus.Source.ValueType
    message: str = ""
    reason: mesos_pb2.TaskStatus.Reason.ValueType | None = None
    record: TaskRecord | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetFramework:
    """The framework has nothing here any more."""

    framework_id: str


Action = StartContainer | KillContainer | Report | ForgetFramework


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a container ended: the wait status of its program (None: unknown) and what else is to say."""

    wait_status: int | None
    message: str | None = None


class Tasks:
    """All frameworks and tasks of an agent."""

    def __init__(self, max_completed_frameworks: int, max_completed_tasks: int) -> None:
        self.frameworks: dict[str, FrameworkRecord] = {}
        self.completed_frameworks: deque[FrameworkRecord] = deque(maxlen=max_completed_frameworks)
        self._max_completed_tasks = max_completed_tasks
        # A heap: when max_completion_time ends, and of which container (a task's id may be used again before).
        self._overdue: list[tuple[float, str, TaskKey]] = []

    def records(self) -> Iterator[TaskRecord]:
        """All tasks that are not forgotten."""
        for framework in self.frameworks.values():
            yield from framework.tasks.values()

    def find(self, key: TaskKey) -> TaskRecord | None:
        framework = self.frameworks.get(key.framework_id)
        return framework.tasks.get(key.task_id) if framework else None

    def run(self, info: mesos_pb2.FrameworkInfo, task: mesos_pb2.TaskInfo, container_id: str) -> list[Action]:
        """The master hands over a task. Ignored: one of an ending framework, and one that was handed over before.

        One whose id was acknowledged as ended while its container still ends is dropped with a report.
        """
        framework = self._framework(info)
        key = TaskKey(info.id.value, task.task_id.value)
        before = framework.tasks.get(key.task_id)
        if before is not None and before.is_acknowledged and not framework.is_ending:
            return [unknown(info, key, "Executor terminating", _Status.REASON_EXECUTOR_TERMINATED)]
        if framework.is_ending or before is not None:
            return []
        record = build_record(task, info, container_id)
        framework.tasks[key.task_id] = record
        return [StartContainer(record=record)]

    def forked(self, record: TaskRecord, pid: int) -> list[Action]:
        """The supervisor waits at its gate; it is to be opened if the record is in phase GATED now."""
        if record.has_ended or self._is_silent(record):
            return [KillContainer(record=record, grace_s=0.0)]
        record.pid = pid
        record.move(Phase.GATED)
        return [self._report(record, mesos_pb2.TASK_STARTING)]

    def opened(self, record: TaskRecord, now: float) -> list[Action]:
        """The program runs (or could not be executed, which `ended` tells)."""
        if record.phase is not Phase.GATED:
            return []
        record.move(Phase.RUNNING)
        if record.info.HasField("max_completion_time"):
            due = now + record.info.max_completion_time.nanoseconds / NANOSECONDS
            heapq.heappush(self._overdue, (due, record.container_id, record.key))
        return [] if self._is_silent(record) else [self._report(record, mesos_pb2.TASK_RUNNING)]

    def failed(self, record: TaskRecord, message: str) -> list[Action]:
        """No container came to be: nothing of it is left."""
        record.has_container = False
        if record.has_ended or self._is_silent(record):
            return self._remove_if_done(record)
        return [
            self._report(
                record,
                mesos_pb2.TASK_FAILED,
                message=f"Failed to launch container: {message}",
                reason=_Status.REASON_CONTAINER_LAUNCH_FAILED,
                source=_Status.SOURCE_AGENT,
            )
        ]

    def ended(self, record: TaskRecord, ending: Ending) -> list[Action]:
        """The container is gone with all its processes."""
        record.has_container = False
        if record.has_ended or self._is_silent(record):
            return self._remove_if_done(record)
        if ending.wait_status is None and not record.is_killed:
            return [self._report_lost(record, ending)]
        message = ending_text(ending.wait_status)
        if record.is_overdue:
            reason = _Status.REASON_MAX_COMPLETION_TIME_REACHED
            return [self._report(record, mesos_pb2.TASK_FAILED, message=message, reason=reason)]
        if record.is_killed:
            return [self._report(record, mesos_pb2.TASK_KILLED, message=message)]
        state = mesos_pb2.TASK_FINISHED if ending.wait_status == 0 else mesos_pb2.TASK_FAILED
        return [self._report(record, state, message=message)]

    def kill(self, key: TaskKey, grace_s: float | None) -> list[Action]:
        """The framework wants a task to end; `grace_s` None: as the task says, else 3 s."""
        framework = self.frameworks.get(key.framework_id)
        if framework is None or framework.is_ending:
            return []
        record = framework.tasks.get(key.task_id)
        if record is None:
            return [unknown(framework.info, key, "Cannot find executor", _Status.REASON_EXECUTOR_TERMINATED)]
        return self._kill(record, grace_of(record.info) if grace_s is None else grace_s)

    def shut_down_framework(self, framework_id: str, grace_s: float) -> list[Action]:
        """The framework is gone: its tasks end, and nobody is told."""
        framework = self.frameworks.get(framework_id)
        if framework is None or framework.is_ending:
            return []
        framework.is_ending = True
        actions: list[Action] = []
        for record in framework.tasks.values():
            actions += self._end_silently(record, grace_s)
        for record in list(framework.tasks.values()):
            actions += self._remove_if_done(record)
        return actions

    def update_framework(self, info: mesos_pb2.FrameworkInfo) -> None:
        """The framework subscribed anew, perhaps with other capabilities."""
        framework = self.frameworks.get(info.id.value)
        if framework is not None:
            framework.info = info

    def acknowledged(self, key: TaskKey) -> list[Action]:
        """The framework has had the task's terminal update."""
        record = self.find(key)
        if record is None:
            return []
        record.is_acknowledged = True
        return self._remove_if_done(record)

    def deadline(self) -> float | None:
        """When `tick` has something to do, if ever."""
        while self._overdue and self._running(*self._overdue[0][1:]) is None:
            heapq.heappop(self._overdue)
        return self._overdue[0][0] if self._overdue else None

    def tick(self, now: float) -> list[Action]:
        """End the tasks whose max_completion_time has passed: SIGTERM and at once SIGKILL, as Mesos 1.11 does."""
        actions: list[Action] = []
        while self._overdue and self._overdue[0][0] <= now:
            _, container_id, key = heapq.heappop(self._overdue)
            record = self._running(container_id, key)
            if record is not None:
                record.is_overdue = True
                record.move(Phase.KILLING)
                actions.append(KillContainer(record=record, grace_s=0.0))
        return actions

    def _running(self, container_id: str, key: TaskKey) -> TaskRecord | None:
        """The task's record if it still runs in this container."""
        record = self.find(key)
        is_this = record is not None and record.container_id == container_id and record.phase is Phase.RUNNING
        return record if is_this else None

    def _framework(self, info: mesos_pb2.FrameworkInfo) -> FrameworkRecord:
        framework = self.frameworks.get(info.id.value)
        if framework is None:
            framework = self.frameworks[info.id.value] = FrameworkRecord(
                info, completed=deque(maxlen=self._max_completed_tasks)
            )
        return framework

    def _kill(self, record: TaskRecord, grace_s: float) -> list[Action]:
        match record.phase:
            case Phase.ENDED:
                return []
            case Phase.PREPARING:
                return [
                    self._report(
                        record,
                        mesos_pb2.TASK_KILLED,
                        message="Killed before delivery to the executor",
                        reason=_Status.REASON_TASK_KILLED_DURING_LAUNCH,
                        source=_Status.SOURCE_AGENT,
                    )
                ]
            case Phase.KILLING:
                record.is_killed = True
                return [KillContainer(record=record, grace_s=grace_s)]
            case Phase.GATED | Phase.RUNNING:
                record.is_killed = True
                record.move(Phase.KILLING)
                return [*self._report_killing(record), KillContainer(record=record, grace_s=grace_s)]

    def _end_silently(self, record: TaskRecord, grace_s: float) -> list[Action]:
        if record.phase in (Phase.GATED, Phase.RUNNING):
            record.move(Phase.KILLING)
        record.is_killed = True
        return [KillContainer(record=record, grace_s=grace_s)] if record.phase is Phase.KILLING else []

    def _report_killing(self, record: TaskRecord) -> list[Action]:
        framework = self.frameworks[record.key.framework_id]
        if not framework.has_capability(_Framework.TASK_KILLING_STATE):
            return []
        return [self._report(record, mesos_pb2.TASK_KILLING)]

    def _report_lost(self, record: TaskRecord, ending: Ending) -> Report:
        parts = ["Executor terminated", *([ending.message] if ending.message else [])]
        return self._report(
            record,
            mesos_pb2.TASK_FAILED,
            message="; ".join(parts),
            reason=_Status.REASON_EXECUTOR_TERMINATED,
            source=_Status.SOURCE_AGENT,
        )

    def _report(
        self,
        record: TaskRecord,
        state: mesos_pb2.TaskState.ValueType,
        *,
        message: str = "",
        reason: mesos_pb2.TaskStatus.Reason.ValueType | None = None,
        source: mesos_pb2.TaskStatus.Source.ValueType = _Status.SOURCE_EXECUTOR,
    ) -> Report:
        record.task.state = state
        if state in TERMINAL_STATES:
            record.move(Phase.ENDED)
        return Report(
            key=record.key,
            executor_id=record.executor_id,
            state=state,
            source=source,
            message=message,
            reason=reason,
            record=record,
        )

    def _is_silent(self, record: TaskRecord) -> bool:
        framework = self.frameworks.get(record.key.framework_id)
        return framework is None or framework.is_ending

    def _remove_if_done(self, record: TaskRecord) -> list[Action]:
        framework = self.frameworks.get(record.key.framework_id)
        if framework is None or record.has_container or not (record.is_acknowledged or framework.is_ending):
            return []
        del framework.tasks[record.key.task_id]
        record.forget_info()
        framework.completed.append(record)
        if framework.tasks:
            return []
        del self.frameworks[record.key.framework_id]
        self.completed_frameworks.append(framework)
        return [ForgetFramework(framework_id=record.key.framework_id)]


def unknown(
    info: mesos_pb2.FrameworkInfo, key: TaskKey, message: str, reason: mesos_pb2.TaskStatus.Reason.ValueType
) -> Report:
    """What is reported of a task that is not here."""
    is_partition_aware = has_capability(info, _Framework.PARTITION_AWARE)
    return Report(
        key=key,
        executor_id="",
        state=mesos_pb2.TASK_DROPPED if is_partition_aware else mesos_pb2.TASK_LOST,
        source=_Status.SOURCE_AGENT,
        message=message,
        reason=reason,
    )


def grace_of(info: mesos_pb2.TaskInfo) -> float:
    """The task's own kill grace, else Mesos' 3 s."""
    if info.HasField("kill_policy") and info.kill_policy.HasField("grace_period"):
        return info.kill_policy.grace_period.nanoseconds / NANOSECONDS
    return KILL_GRACE_S


def ending_text(wait_status: int | None) -> str:
    """The message of a terminal update (Mesos 1.11: the command executor's texts)."""
    if wait_status is None:
        return "Failed to get exit status for Command"
    if os.WIFEXITED(wait_status):
        return f"Command exited with status {os.WEXITSTATUS(wait_status)}"
    number = os.WTERMSIG(wait_status)
    core = " (core dumped)" if os.WCOREDUMP(wait_status) else ""
    return f"Command terminated with signal {signal.strsignal(number) or f'Unknown signal {number}'}{core}"
