"""Command tasks: the agent stands for their executor, and says what that would say (Mesos 1.11)."""

from __future__ import annotations

from tfmesos.agent.core.actions import (
    Action,
    Deliver,
    KeepKill,
    KillContainer,
    OpenGate,
    StartChecks,
    StopChecks,
)
from tfmesos.agent.core.books import Books, Deadlines
from tfmesos.agent.core.events import NANOSECONDS, Ending, Running
from tfmesos.agent.core.records import Capability, ExecutorRecord, Phase, TaskRecord
from tfmesos.agent.core.reports import Reports, Status
from tfmesos.agent.core.texts import ending_text
from tfmesos.wire import mesos_pb2

KILL_GRACE_S = 3.0  # Mesos 1.11, when neither the KILL nor the task has a kill policy
SHUTDOWN_MARGIN_S = 2.0  # Mesos 1.11: what a command executor keeps of its shutdown grace, to reap and to report


class CommandTasks:
    """One task per container, from its fork to its end."""

    def __init__(self, books: Books, deadlines: Deadlines, reports: Reports) -> None:
        self._books = books
        self._deadlines = deadlines
        self._reports = reports

    def forked(self, executor: ExecutorRecord) -> list[Action]:
        """The supervisor waits at its gate."""
        if executor.is_ending:
            return [KillContainer(executor, 0.0)]
        record = _task_of(executor)
        record.is_delivered = executor.has_worked = True
        starting = self._reports.own(record, mesos_pb2.TASK_STARTING)
        return [*starting, Deliver(executor, (record,)), OpenGate(executor)]

    def opened(self, executor: ExecutorRecord, now: float, running: Running) -> list[Action]:
        """The program runs (or could not be executed, which `ended` tells)."""
        if executor.phase is not Phase.REGISTERING:
            return []
        executor.move(Phase.RUNNING)
        record = _task_of(executor)
        info = record.info
        if info.HasField("max_completion_time"):
            self._deadlines.set(executor, now + info.max_completion_time.nanoseconds / NANOSECONDS)
        status = self._reports.own_status(record, mesos_pb2.TASK_RUNNING)
        if running.data:
            status.data = running.data
        if running.ip_address is not None:
            status.container_status.network_infos.add().ip_addresses.add().ip_address = running.ip_address
        return [*self._reports.given(record, status), *([StartChecks(record)] if is_checked(info) else [])]

    def failed(self, executor: ExecutorRecord, message: str) -> list[Action]:
        """No container came to be: nothing of it is left."""
        executor.move(Phase.TERMINATED)
        return [action for record in _living(executor) for action in self._not_launched(record, message)]

    def ended(self, executor: ExecutorRecord, ending: Ending) -> list[Action]:
        """The container is gone with all its processes."""
        executor.move(Phase.TERMINATED)
        return [action for record in _living(executor) for action in self._end(record, ending)]

    def kill(self, record: TaskRecord, grace_s: float | None) -> list[Action]:
        """The framework wants the task to end; `grace_s` None: as the task says, else 3 s."""
        if record.has_ended:
            return []
        executor = record.executor
        record.is_killed, record.kill_grace_s = True, grace_s
        if executor.phase is Phase.REGISTERING and executor.pid is None:
            executor.move(Phase.TERMINATING)  # reported when nothing is left: until then the container holds resources
            return [KillContainer(executor, 0.0)]
        return self._end_program(record, grace_of(record.info) if grace_s is None else grace_s)

    def shut_down(self, executor: ExecutorRecord, grace_s: float) -> list[Action]:
        """Executor or framework is to end: the task does, with what a command executor would leave of the grace."""
        grace_s = max(grace_s - SHUTDOWN_MARGIN_S, 0.0)
        if not executor.framework.is_ending:
            return [action for record in _living(executor) for action in self.kill(record, grace_s)]
        if not executor.is_ending:
            self._deadlines.set(executor, None)
            executor.move(Phase.TERMINATING)
        for record in executor.tasks.values():
            record.is_killed = True
        stopped = [StopChecks(record) for record in executor.tasks.values() if is_checked(record.info)]
        return [*stopped, KillContainer(executor, grace_s)]

    def overdue(self, executor: ExecutorRecord) -> list[Action]:
        """max_completion_time has passed: SIGTERM and at once SIGKILL."""
        if executor.phase is not Phase.RUNNING:
            return []
        record = _task_of(executor)
        record.is_overdue = True
        return self._end_program(record, 0.0)

    def unhealthy(self, record: TaskRecord) -> list[Action]:
        """Its health check has failed too often."""
        if record.has_ended or record.executor.phase is not Phase.RUNNING:
            return []
        record.is_unhealthy = True
        return self.kill(record, None)

    def checked(self, record: TaskRecord, status: mesos_pb2.CheckStatusInfo) -> list[Action]:
        """A check has told something new: the same state again, with what it told."""
        record.check_status = status
        return self._looked_at(record, Status.REASON_TASK_CHECK_STATUS_UPDATED)

    def health_told(self, record: TaskRecord, healthy: bool) -> list[Action]:
        """A health check has told something."""
        record.healthy = healthy
        return self._looked_at(record, Status.REASON_TASK_HEALTH_CHECK_STATUS_UPDATED)

    def _looked_at(self, record: TaskRecord, reason: mesos_pb2.TaskStatus.Reason.ValueType) -> list[Action]:
        if record.has_ended or record.executor.phase is not Phase.RUNNING:
            return []
        return self._reports.own(record, mesos_pb2.TASK_RUNNING, reason=reason)

    def _end_program(self, record: TaskRecord, grace_s: float) -> list[Action]:
        executor = record.executor
        actions: list[Action] = [KeepKill(record, grace_s)]
        if not executor.is_ending:
            self._deadlines.set(executor, None)
            executor.move(Phase.TERMINATING)
            if is_checked(record.info):
                actions.append(StopChecks(record))
            can_say_so = executor.framework.has_capability(Capability.TASK_KILLING_STATE)
            if can_say_so and not record.is_overdue:
                actions += self._reports.own(record, mesos_pb2.TASK_KILLING)
        return [*actions, KillContainer(executor, grace_s)]

    def _not_launched(self, record: TaskRecord, message: str) -> list[Action]:
        if record.is_killed:
            return self._reports.given(record, self._reports.undelivered_status(record))
        return self._reports.own(
            record,
            mesos_pb2.TASK_FAILED,
            message=f"Failed to launch container: {message}",
            reason=Status.REASON_CONTAINER_LAUNCH_FAILED,
            source=Status.SOURCE_AGENT,
        )

    def _end(self, record: TaskRecord, ending: Ending) -> list[Action]:
        if record.is_killed and not record.is_delivered:
            return self._reports.given(record, self._reports.undelivered_status(record))
        stopped: list[Action] = [StopChecks(record)] if is_checked(record.info) else []
        if ending.cause is not None or (ending.wait_status is None and not record.is_killed):
            return [*stopped, *self._end_by_agent(record, ending)]
        message, reason = ending_text(record.info, ending.wait_status), None
        if record.is_overdue:
            state, reason = mesos_pb2.TASK_FAILED, Status.REASON_MAX_COMPLETION_TIME_REACHED
        elif record.is_killed:
            state = mesos_pb2.TASK_KILLED
        else:
            state = mesos_pb2.TASK_FINISHED if ending.wait_status == 0 else mesos_pb2.TASK_FAILED
        return [*stopped, *self._reports.own(record, state, message=message, reason=reason)]

    def _end_by_agent(self, record: TaskRecord, ending: Ending) -> list[Action]:
        """A limit was passed, or the supervisor was lost: what Mesos says when the executor is gone."""
        cause = ending.cause
        if cause is None and record.executor.is_recovered and record.task.state != mesos_pb2.TASK_RUNNING:
            return self._reports.lost_in_restart(record)
        parts = [cause.message] if cause else ["Executor terminated", *([ending.message] if ending.message else [])]
        return self._reports.own(
            record,
            cause.state if cause else mesos_pb2.TASK_FAILED,
            message="; ".join(parts),
            reason=cause.reason if cause else Status.REASON_EXECUTOR_TERMINATED,
            source=Status.SOURCE_AGENT,
            limitation=cause.limitation if cause else (),
        )


def is_checked(info: mesos_pb2.TaskInfo) -> bool:
    """Whether the agent is to look after the task."""
    return info.HasField("health_check") or info.HasField("check")


def grace_of(info: mesos_pb2.TaskInfo) -> float:
    """The task's own kill grace, else Mesos' 3 s."""
    if info.HasField("kill_policy") and info.kill_policy.HasField("grace_period"):
        return info.kill_policy.grace_period.nanoseconds / NANOSECONDS
    return KILL_GRACE_S


def _task_of(executor: ExecutorRecord) -> TaskRecord:
    return next(iter(executor.tasks.values()))


def _living(executor: ExecutorRecord) -> list[TaskRecord]:
    return [record for record in executor.tasks.values() if not record.has_ended]
