"""Executors with a program of their own, and their tasks (Mesos 1.11: src/slave/slave.cpp)."""

from __future__ import annotations

from tfmesos.agent.core.actions import (
    Action,
    CloseStream,
    KeepEnding,
    KeepKill,
    KillContainer,
    OpenGate,
    SendEvent,
    Tell,
)
from tfmesos.agent.core.books import Books, Deadlines
from tfmesos.agent.core.command_tasks import grace_of
from tfmesos.agent.core.events import NANOSECONDS, Ending, Event, kill_event, message_event
from tfmesos.agent.core.records import Capability, Cause, ExecutorRecord, Phase, TaskRecord
from tfmesos.agent.core.reports import BEFORE_DELIVERY, Reports, Status, exited
from tfmesos.agent.core.resizing import Resizing
from tfmesos.flags import format_duration
from tfmesos.wire import mesos_pb2

_GROUP_BEFORE_DELIVERY = "A task within the task group was killed before delivery to the executor"


class ExecutorTasks:
    """From the container's fork to its end; what the executor itself says is in `executor_calls`."""

    def __init__(self, books: Books, deadlines: Deadlines, reports: Reports, resizing: Resizing) -> None:
        self._books = books
        self._deadlines = deadlines
        self._reports = reports
        self._resizing = resizing

    def forked(self, executor: ExecutorRecord) -> list[Action]:
        """The supervisor waits at its gate."""
        if executor.is_ending:
            return [KillContainer(executor, 0.0)]
        return [OpenGate(executor), *self._resizing.ask(executor)]

    def opened(self, executor: ExecutorRecord, now: float) -> list[Action]:
        """Its program runs: from now on it has time to register, however long its image or its files took to come.

        (Mesos 1.11 counts that, too.)
        """
        if executor.phase is Phase.REGISTERING:
            self._deadlines.set(executor, now + self._books.settings.registration_timeout_s)
        return []

    def failed(self, executor: ExecutorRecord, message: str) -> list[Action]:
        """No container came to be: nothing of it is left."""
        cause = Cause(reason=Status.REASON_CONTAINER_LAUNCH_FAILED, message=f"Failed to launch container: {message}")
        return self.ended(executor, Ending(wait_status=None, cause=cause))

    def ended(self, executor: ExecutorRecord, ending: Ending) -> list[Action]:
        """The container is gone, and with it what still lived. The master hears of the executor first (recorded)."""
        executor.move(Phase.TERMINATED)
        executor.is_subscribed = False
        executor.queue.clear()
        actions: list[Action] = [CloseStream(executor), Tell(exited(executor, ending.wait_status))]
        actions += self._resizing.release(executor)
        for record in executor.tasks.values():
            if not record.has_ended:
                actions += self._end(record, ending)
        return actions

    def kill(self, record: TaskRecord, grace_s: float | None) -> list[Action]:
        """The framework wants the task to end. An executor that ends anyway is not told."""
        executor = record.executor
        if record.is_over or executor.is_ending:
            return []
        if not record.is_delivered:
            return self._kill_queued(record)
        record.is_killed, record.kill_grace_s = True, grace_s
        grace = grace_of(record.info) if grace_s is None else grace_s
        return [KeepKill(record, grace), SendEvent(executor, kill_event(record))]

    def shut_down(self, executor: ExecutorRecord, now: float) -> list[Action]:
        """Executor or framework is to end."""
        if executor.is_ending:
            return []
        executor.move(Phase.TERMINATING)
        grace_s = self._grace_of(executor)
        self._deadlines.set(executor, now + grace_s)
        return [KeepEnding(executor, grace_s), SendEvent(executor, Event(type=Event.SHUTDOWN))]

    def stream_lost(self, executor: ExecutorRecord, now: float) -> list[Action]:
        """The executor is not there any more. Without checkpoints it cannot come back (Mesos 1.11: it ends itself)."""
        executor.is_subscribed = False
        if executor.phase is Phase.RUNNING and not executor.framework.info.checkpoint:
            self._deadlines.set(executor, now + self._grace_of(executor))
        return []

    def not_resized(self, executor: ExecutorRecord, fault: str) -> list[Action]:
        """The container cannot be made to hold what it should: the tasks that need more fail, or all."""
        actions = self._resizing.failed(executor, fault)
        if actions is None:
            cause = Cause(reason=Status.REASON_CONTAINER_UPDATE_FAILED, message=f"Container update failed: {fault}")
            return [KillContainer(executor, 0.0)] if executor.is_ending else self.destroy(executor, cause)
        return [*actions, *self._end_if_idle(executor)] if actions else []

    def message(self, executor: ExecutorRecord | None, data: bytes) -> list[Action]:
        """A framework's message; dropped if the executor cannot hear it."""
        is_heard = executor is not None and executor.phase is Phase.RUNNING and executor.is_subscribed
        self._books.counts["valid_framework_messages" if is_heard else "invalid_framework_messages"] += 1
        return [SendEvent(executor, message_event(data))] if is_heard and executor is not None else []

    def overdue(self, executor: ExecutorRecord) -> list[Action]:
        """The agent's patience has ended."""
        if executor.phase is Phase.TERMINATING:
            return [KillContainer(executor, 0.0)]
        if executor.phase is Phase.REGISTERING:
            timeout = format_duration(self._books.settings.registration_timeout_s)
            return self.destroy(
                executor,
                Cause(
                    reason=Status.REASON_EXECUTOR_REGISTRATION_TIMEOUT,
                    message=f"Executor did not register within {timeout}",
                ),
            )
        if not executor.is_recovered:
            return self.destroy(executor, Cause(message="Executor terminated; its connection to the agent was lost"))
        is_aware = executor.framework.has_capability(Capability.PARTITION_AWARE)
        timeout = format_duration(self._books.settings.reregistration_timeout_s)
        return self.destroy(
            executor,
            Cause(
                state=mesos_pb2.TASK_GONE if is_aware else mesos_pb2.TASK_LOST,
                reason=Status.REASON_EXECUTOR_REREGISTRATION_TIMEOUT,
                message=f"Executor did not reregister within {timeout}",
            ),
        )

    def destroy(self, executor: ExecutorRecord, cause: Cause | None) -> list[Action]:
        """End the container at once."""
        executor.move(Phase.TERMINATING)
        executor.cause = cause
        self._deadlines.set(executor, None)
        return [KeepEnding(executor, 0.0), CloseStream(executor), KillContainer(executor, 0.0)]

    def _grace_of(self, executor: ExecutorRecord) -> float:
        own_s = own_grace_of(executor.info)
        return self._books.settings.shutdown_grace_s if own_s is None else own_s

    def _end(self, record: TaskRecord, ending: Ending) -> list[Action]:
        executor = record.executor
        causes = [cause for cause in (executor.cause, ending.cause) if cause is not None]
        never_ran = executor.is_recovered and not executor.has_worked and ending.wait_status is None
        if never_ran and not causes:
            return self._reports.lost_in_restart(record)
        texts = [cause.message for cause in causes if cause.message] or ["Executor terminated"]
        told = causes[-1] if causes else Cause()
        return self._reports.own(
            record,
            told.state,
            message="; ".join([*texts, *([ending.message] if ending.message else [])]),
            reason=told.reason,
            source=Status.SOURCE_AGENT,
            limitation=told.limitation,
        )

    def _kill_queued(self, record: TaskRecord) -> list[Action]:
        """The executor was not told of the task yet, nor of the others of its group: none of them starts."""
        executor = record.executor
        launch = next(launch for launch in executor.queue if record in launch.tasks)
        executor.queue.remove(launch)
        message = _GROUP_BEFORE_DELIVERY if launch.is_group else BEFORE_DELIVERY
        ends = [(killed, self._reports.undelivered_status(killed, message)) for killed in launch.tasks]
        return [*self._resizing.dismiss(executor, ends), *self._end_if_idle(executor)]

    def _end_if_idle(self, executor: ExecutorRecord) -> list[Action]:
        """One that was never given anything, and that nothing waits for any more, is of no use."""
        is_idle = not executor.is_ending and not executor.queue and not executor.has_worked
        return self.destroy(executor, None) if is_idle else []


def own_grace_of(info: mesos_pb2.ExecutorInfo) -> float | None:
    """How long the executor says that it needs to end; None: as long as the agent gives."""
    return info.shutdown_grace_period.nanoseconds / NANOSECONDS if info.HasField("shutdown_grace_period") else None
