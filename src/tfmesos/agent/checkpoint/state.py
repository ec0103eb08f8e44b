"""Facts folded into the state that they come to, and the state told again as facts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from tfmesos.agent.checkpoint.facts import (
    AgentKept,
    DrainKept,
    ExecutorEnding,
    ExecutorForgotten,
    ExecutorKept,
    Fact,
    FrameworkEnding,
    FrameworkForgotten,
    FrameworkKept,
    ReservationsKept,
    TaskForgotten,
    TaskKept,
    TaskKillAsked,
    TaskSent,
    UpdateAcknowledged,
    UpdateQueued,
)
from tfmesos.agent.checkpoint.recovered import Recovered, RecoveredExecutor, RecoveredFramework, RecoveredTask
from tfmesos.wire import internal_pb2


class CheckpointState:
    """The sum of all facts. Facts about what is not there (any more) change nothing."""

    def __init__(self, max_completed_frameworks: int, facts: Iterable[Fact] = ()) -> None:
        self._max_completed_frameworks = max_completed_frameworks
        self._framework_of: dict[str, str] = {}  # by container id
        self._tasks_of: dict[str, set[str]] = {}  # by container id
        self.sum = Recovered()
        for fact in facts:
            self.apply(fact)

    def copy(self) -> Recovered:
        """The state as a thing of its own; the messages in it are shared."""
        return CheckpointState(self._max_completed_frameworks, self.facts()).sum

    def clear(self) -> None:
        """There was no agent before."""
        self.sum = Recovered()
        self._framework_of.clear()
        self._tasks_of.clear()

    def apply(self, fact: Fact) -> None:
        """Take a fact in."""
        match fact:
            case AgentKept():
                self._keep_agent(fact)
            case ReservationsKept(message=message):
                self.sum.reservations = message
            case DrainKept():
                self.sum.drain = fact if fact.message is not None else None
            case FrameworkKept() | FrameworkEnding() | FrameworkForgotten():
                self._apply_to_frameworks(fact)
            case ExecutorKept() | ExecutorEnding() | ExecutorForgotten():
                self._apply_to_executors(fact)
            case TaskKept() | TaskSent() | TaskKillAsked() | TaskForgotten():
                self._apply_to_tasks(fact)
            case UpdateQueued(update=update):
                self._queue(update)
            case UpdateAcknowledged():
                self._acknowledge(fact)
            case _:
                assert_never(fact)

    def facts(self) -> Iterator[Fact]:
        """A shortest story that leads to this state."""
        whole = self.sum
        if whole.agent is not None:
            yield AgentKept(info=whole.agent, boot_id=whole.boot_id, runtime_dir=whole.runtime_dir)
        if whole.reservations is not None:
            yield ReservationsKept(message=whole.reservations)
        if whole.drain is not None:
            yield whole.drain
        for framework_id, info in whole.completed.items():
            yield FrameworkKept(info=info)
            yield FrameworkForgotten(framework_id=framework_id)
        for framework_id, framework in whole.frameworks.items():
            yield from _facts_of(framework_id, framework)

    def _keep_agent(self, fact: AgentKept) -> None:
        if self.sum.agent is not None and self.sum.agent.id != fact.info.id:
            self.clear()
        self.sum.agent, self.sum.boot_id, self.sum.runtime_dir = fact.info, fact.boot_id, fact.runtime_dir

    def _apply_to_frameworks(self, fact: FrameworkKept | FrameworkEnding | FrameworkForgotten) -> None:
        frameworks = self.sum.frameworks
        match fact:
            case FrameworkKept(info=info):
                known = frameworks.get(info.id.value)
                if known is None:
                    self.sum.completed.pop(info.id.value, None)
                    frameworks[info.id.value] = RecoveredFramework(info=info)
                else:
                    known.info = info
            case FrameworkEnding(framework_id=framework_id):
                if framework_id in frameworks:
                    frameworks[framework_id].is_ending = True
                    _forget_updates(frameworks[framework_id])
            case FrameworkForgotten(framework_id=framework_id):
                gone = frameworks.pop(framework_id, None)
                if gone is not None:
                    self._complete(framework_id, gone)

    def _complete(self, framework_id: str, framework: RecoveredFramework) -> None:
        for container_id in framework.executors:
            self._framework_of.pop(container_id, None)
            self._tasks_of.pop(container_id, None)
        completed = self.sum.completed
        completed[framework_id] = framework.info
        while len(completed) > self._max_completed_frameworks:
            del completed[next(iter(completed))]

    def _apply_to_executors(self, fact: ExecutorKept | ExecutorEnding | ExecutorForgotten) -> None:
        container_id = fact.container_id
        if isinstance(fact, ExecutorKept):
            kept_by = self.sum.frameworks.get(fact.framework_id)
            if kept_by is not None:
                self._framework_of[container_id] = fact.framework_id
                tasks = map(kept_by.tasks.get, self._tasks_of.get(container_id, ()))
                kept_by.executors[container_id] = RecoveredExecutor(
                    info=fact.info,
                    container_id=container_id,
                    is_command=fact.is_command,
                    has_worked=fact.has_worked
                    or any(task and task.was_sent and task.container_id == container_id for task in tasks),
                )
            return
        framework_id = self._framework_of.get(container_id)
        if framework_id is None:
            return
        framework = self.sum.frameworks[framework_id]
        match fact:
            case ExecutorEnding():
                framework.executors[container_id].ending = fact
            case ExecutorForgotten():
                del framework.executors[container_id], self._framework_of[container_id]
                for task_id in self._tasks_of.pop(container_id, ()):
                    if task_id in framework.tasks and framework.tasks[task_id].container_id == container_id:
                        del framework.tasks[task_id]
            case _:
                assert_never(fact)

    def _apply_to_tasks(self, fact: TaskKept | TaskSent | TaskKillAsked | TaskForgotten) -> None:
        framework = self.sum.frameworks.get(fact.framework_id)
        if framework is None:
            return
        if isinstance(fact, TaskKept):
            _add_task(framework, fact)
            self._tasks_of.setdefault(fact.container_id, set()).add(fact.info.task_id.value)
            return
        task = framework.tasks.get(fact.task_id)
        if task is None:
            return
        match fact:
            case TaskSent():
                task.was_sent = True
                executor = framework.executors.get(task.container_id)
                if executor is not None:
                    executor.has_worked = True
            case TaskKillAsked():
                task.kill = fact
            case TaskForgotten():
                del framework.tasks[fact.task_id]
                self._tasks_of.get(task.container_id, set()).discard(fact.task_id)
            case _:
                assert_never(fact)

    def _queue(self, update: internal_pb2.StatusUpdate) -> None:
        framework = self.sum.frameworks.get(update.framework_id.value)
        if framework is None or framework.is_ending:
            return
        task = framework.tasks.get(update.status.task_id.value)
        (framework.strays if task is None else task.pending).append(update)

    def _acknowledge(self, fact: UpdateAcknowledged) -> None:
        framework = self.sum.frameworks.get(fact.framework_id)
        if framework is None:
            return
        task = framework.tasks.get(fact.task_id)
        queue = framework.strays if task is None else task.pending
        for index, update in enumerate(queue):
            if update.uuid == fact.uuid:
                del queue[index]
                if task is not None:
                    _remember(task.acknowledged, update)
                return


def _facts_of(framework_id: str, framework: RecoveredFramework) -> Iterator[Fact]:
    yield FrameworkKept(info=framework.info)
    if framework.is_ending:
        yield FrameworkEnding(framework_id=framework_id)
    for executor in framework.executors.values():
        yield ExecutorKept(
            framework_id=framework_id,
            container_id=executor.container_id,
            info=executor.info,
            is_command=executor.is_command,
            has_worked=executor.has_worked,
        )
        if executor.ending is not None:
            yield executor.ending
    for task_id, task in framework.tasks.items():
        yield from _facts_of_task(framework_id, task_id, task)
    for update in framework.strays:
        yield UpdateQueued(update=update)


def _facts_of_task(framework_id: str, task_id: str, task: RecoveredTask) -> Iterator[Fact]:
    yield TaskKept(framework_id=framework_id, container_id=task.container_id, info=task.info, group=task.group)
    if task.was_sent:
        yield TaskSent(framework_id=framework_id, task_id=task_id)
    if task.kill is not None:
        yield task.kill
    for update in task.acknowledged:
        yield UpdateQueued(update=update)
        yield UpdateAcknowledged(framework_id=framework_id, task_id=task_id, uuid=update.uuid)
    for update in task.pending:
        yield UpdateQueued(update=update)


def _add_task(framework: RecoveredFramework, fact: TaskKept) -> None:
    """Updates of an unknown task with this id are of this stream from now on."""
    task_id = fact.info.task_id.value
    its = [update for update in framework.strays if update.status.task_id.value == task_id]
    framework.strays = [update for update in framework.strays if update.status.task_id.value != task_id]
    framework.tasks[task_id] = RecoveredTask(
        info=fact.info, container_id=fact.container_id, group=fact.group, pending=its
    )


def _remember(acknowledged: list[internal_pb2.StatusUpdate], update: internal_pb2.StatusUpdate) -> None:
    """Of a state that is told again and again the first time and the last are enough: health checks go on for ever."""
    if len(acknowledged) > 1 and acknowledged[-2].status.state == acknowledged[-1].status.state == update.status.state:
        del acknowledged[-1]
    acknowledged.append(update)


def _forget_updates(framework: RecoveredFramework) -> None:
    """Nothing more is reported of a framework that is gone."""
    framework.strays.clear()
    for task in framework.tasks.values():
        task.pending.clear()
