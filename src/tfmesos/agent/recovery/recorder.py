"""Writes down what the core says must be known by the next agent, for the frameworks that want checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import assert_never

from tfmesos.agent.checkpoint import (
    CheckpointStore,
    DrainKept,
    ExecutorEnding,
    ExecutorForgotten,
    ExecutorKept,
    FrameworkEnding,
    FrameworkForgotten,
    FrameworkKept,
    TaskForgotten,
    TaskKept,
    TaskKillAsked,
    TaskSent,
    UpdateAcknowledged,
    UpdateQueued,
)
from tfmesos.agent.core import (
    Deliver,
    Fact,
    ForgetExecutor,
    ForgetFramework,
    ForgetTask,
    FrameworkRecord,
    KeepDrain,
    KeepEnding,
    KeepFramework,
    KeepFrameworkEnding,
    KeepKill,
    KeepTasks,
    Kind,
    Report,
    TaskKey,
)
from tfmesos.wire import internal_pb2


class CheckpointRecorder:
    """Turns the core's facts into those of the checkpoint; each is called before the action is carried out."""

    def __init__(self, store: CheckpointStore, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock

    def note(self, action: Fact) -> None:
        """Keep what the next agent must know of an action."""
        framework = _framework_of(action)
        if framework is None or framework.info.checkpoint:
            self._note(action)

    def update(self, update: internal_pb2.StatusUpdate) -> None:
        """An update is queued: it will be sent until it is acknowledged, if need be by the next agent."""
        if self._store.has_framework(update.framework_id.value):
            self._store.keep(UpdateQueued(update=update))

    def acknowledged(self, key: TaskKey, uuid: bytes) -> None:
        """The framework has had an update."""
        if self._store.has_framework(key.framework_id):
            self._store.keep(UpdateAcknowledged(framework_id=key.framework_id, task_id=key.task_id, uuid=uuid))

    async def wait_written(self) -> None:
        """Until all that was noted survives the end of this process: at once, unless the disk is full."""
        await self._store.wait_written()

    def _note(self, action: Fact) -> None:
        keep = self._store.keep
        match action:
            case KeepFramework(framework=framework):
                keep(FrameworkKept(info=framework.info))
            case KeepFrameworkEnding(framework=framework):
                keep(FrameworkEnding(framework_id=framework.info.id.value))
            case KeepTasks():
                self._note_tasks(action)
            case KeepKill(record=record, grace_s=grace_s):
                keep(
                    TaskKillAsked(
                        framework_id=record.key.framework_id,
                        task_id=record.key.task_id,
                        at_s=self._clock(),
                        grace_s=grace_s,
                        is_overdue=record.is_overdue,
                    )
                )
            case KeepEnding(executor=executor, grace_s=grace_s):
                keep(ExecutorEnding(container_id=executor.container_id, at_s=self._clock(), grace_s=grace_s))
            case Deliver(executor=executor) if executor.kind is Kind.COMMAND:
                return  # its TASK_STARTING says so
            case Deliver(tasks=tasks):
                for record in tasks:
                    keep(TaskSent(framework_id=record.key.framework_id, task_id=record.key.task_id))
            case ForgetTask(record=record) if record.executor.kind is Kind.COMMAND:
                return  # its executor will be forgotten; until then its acknowledged end is known
            case ForgetTask(record=record):
                keep(TaskForgotten(framework_id=record.key.framework_id, task_id=record.key.task_id))
            case ForgetExecutor(executor=executor):
                keep(ExecutorForgotten(container_id=executor.container_id))
            case ForgetFramework(framework=framework):
                keep(FrameworkForgotten(framework_id=framework.info.id.value))
            case KeepDrain(config=config):
                drain = internal_pb2.DrainSlaveMessage(config=config) if config is not None else None
                keep(DrainKept(message=drain))
            case Report():
                return  # its update is kept when it is made
            case _:
                assert_never(action)

    def _note_tasks(self, action: KeepTasks) -> None:
        executor = action.executor
        if action.is_new:
            kept = ExecutorKept(
                framework_id=executor.framework_id,
                container_id=executor.container_id,
                info=executor.info,
                is_command=executor.kind is Kind.COMMAND,
            )
            self._store.keep(kept)
        for record in action.tasks:
            self._store.keep(
                TaskKept(
                    framework_id=executor.framework_id,
                    container_id=executor.container_id,
                    info=record.info,
                    group=record.group,
                )
            )


def _framework_of(action: Fact) -> FrameworkRecord | None:
    """Whose wish for checkpoints counts; None if nobody's."""
    match action:
        case KeepFramework() | KeepFrameworkEnding() | ForgetFramework():
            return action.framework
        case KeepKill() | ForgetTask():
            return action.record.executor.framework
        case KeepTasks() | KeepEnding() | Deliver() | ForgetExecutor():
            return action.executor.framework
        case KeepDrain() | Report():
            return None
        case _:
            assert_never(action)
