"""All that the core remembers, and how it is forgotten."""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from tfmesos.agent.core.actions import Action, ForgetExecutor, ForgetFramework, ForgetTask, KeepDrain, KeepFramework
from tfmesos.agent.core.records import ExecutorRecord, FrameworkRecord, Kind, Phase, TaskKey, TaskRecord
from tfmesos.wire import mesos_pb2

MAX_COMPLETED_TASKS = 200  # Mesos 1.11: per executor
_STALE_KEPT = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreSettings:
    """What the core is told by the agent's flags."""

    max_completed_frameworks: int = 50
    max_completed_executors: int = 150
    registration_timeout_s: float = 60.0
    reregistration_timeout_s: float = 2.0
    shutdown_grace_s: float = 5.0
    resizes_containers: bool = False
    """Whether an executor's container is told of each task that comes and goes, before anybody else."""


class Books:
    """Frameworks with their executors and tasks, what is being drained, and counts by the names of Mesos' metrics."""

    def __init__(self, settings: CoreSettings) -> None:
        self.settings = settings
        self.frameworks: dict[str, FrameworkRecord] = {}
        self.completed_frameworks: deque[FrameworkRecord] = deque(maxlen=settings.max_completed_frameworks)
        self.draining: mesos_pb2.DrainConfig | None = None
        self.counts: Counter[str] = Counter()

    def executors(self) -> Iterator[ExecutorRecord]:
        """All executors that are not forgotten."""
        for framework in self.frameworks.values():
            yield from framework.executors.values()

    def tasks(self) -> Iterator[TaskRecord]:
        """All tasks that are not completed."""
        for framework in self.frameworks.values():
            yield from framework.tasks.values()

    def find(self, key: TaskKey) -> TaskRecord | None:
        framework = self.frameworks.get(key.framework_id)
        return framework.tasks.get(key.task_id) if framework else None

    def find_executor(self, framework_id: str, executor_id: str) -> ExecutorRecord | None:
        framework = self.frameworks.get(framework_id)
        return framework.executors.get(executor_id) if framework else None

    def open_framework(self, info: mesos_pb2.FrameworkInfo) -> tuple[FrameworkRecord, list[Action]]:
        """The framework's record, made if there is none."""
        framework = self.frameworks.get(info.id.value)
        if framework is not None:
            return framework, []
        framework = FrameworkRecord(info, completed=deque(maxlen=self.settings.max_completed_executors))
        self.frameworks[info.id.value] = framework
        return framework, [KeepFramework(framework)]

    def complete(self, record: TaskRecord) -> list[Action]:
        """A task's end is acknowledged."""
        executor = record.executor
        del executor.tasks[record.key.task_id]
        del executor.framework.tasks[record.key.task_id]
        record.forget_info()
        executor.completed.append(record)
        return [ForgetTask(record), *self.settle(executor)]

    def settle(self, executor: ExecutorRecord) -> list[Action]:
        """Forget an executor of which nothing is left to be done, and then perhaps its framework."""
        framework = executor.framework
        if executor.has_container or (executor.tasks and not framework.is_ending):
            return []
        for task_id, record in executor.tasks.items():
            del framework.tasks[task_id]
            record.forget_info()
            executor.completed.append(record)
        executor.tasks.clear()
        executor.queue.clear()
        del framework.executors[executor.executor_id]
        if executor.kind is not Kind.COMMAND:
            executor.forget_info()
        framework.completed.append(executor)
        return [ForgetExecutor(executor), *self.settle_framework(framework)]

    def settle_framework(self, framework: FrameworkRecord) -> list[Action]:
        """Forget a framework that has nothing here; a drain is over when none has (Mesos 1.11)."""
        framework_id = framework.info.id.value
        if framework.executors or framework_id not in self.frameworks:
            return []
        del self.frameworks[framework_id]
        self.completed_frameworks.append(framework)
        forgotten: list[Action] = [ForgetFramework(framework)]
        if self.draining is not None and not self.frameworks:
            self.draining = None
            forgotten.append(KeepDrain(None))
        return forgotten


class Deadlines:
    """A heap of the executors' deadlines; entries that no longer agree with their executor are stale."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, ExecutorRecord]] = []
        self._numbers = count()
        self._most = _STALE_KEPT

    def __len__(self) -> int:
        """How many entries there are, stale ones included."""
        return len(self._heap)

    def set(self, executor: ExecutorRecord, due: float | None) -> None:
        """Wait until `due`; None: no longer."""
        executor.deadline = due
        if due is None:
            return
        heapq.heappush(self._heap, (due, next(self._numbers), executor))
        if len(self._heap) > self._most:
            self._heap = [entry for entry in self._heap if _is_valid(entry)]
            heapq.heapify(self._heap)
            self._most = 2 * len(self._heap) + _STALE_KEPT

    def first(self) -> float | None:
        """The next deadline, if any."""
        while self._heap and not _is_valid(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop(self, now: float) -> Iterator[ExecutorRecord]:
        """The executors whose deadline has come; each has none afterwards."""
        while (due := self.first()) is not None and due <= now:
            _, _, executor = heapq.heappop(self._heap)
            executor.deadline = None
            yield executor


def _is_valid(entry: tuple[float, int, ExecutorRecord]) -> bool:
    due, _, executor = entry
    return executor.deadline == due and executor.phase is not Phase.TERMINATED
