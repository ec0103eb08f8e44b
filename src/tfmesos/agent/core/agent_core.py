"""The life of frameworks, executors and tasks on this agent: the pure core.

Events are its methods; each returns what is to be done, in order. Times are seconds of one monotonic clock.

Promises (tested by hypothesis): a task that was accepted gets exactly one terminal report and none after it, unless its
framework is shut down: its tasks get none from then on; a container that was forked is opened at most once and never
after a kill; an executor gets no event after it was told to shut down but acknowledgements, and none after its end; a
record goes when all terminal updates are acknowledged and its container is gone, whichever comes last. Where containers
are resized, a task is delivered only to a container that holds what it needs, and its end is reported only when the
container does not any more.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence

from tfmesos.agent.checkpoint import Recovered
from tfmesos.agent.core.actions import Action, KeepDrain, KeepFramework, KeepFrameworkEnding
from tfmesos.agent.core.books import Books, CoreSettings, Deadlines
from tfmesos.agent.core.command_tasks import CommandTasks, grace_of
from tfmesos.agent.core.events import NANOSECONDS, NOTHING_SAID, Ending, Running
from tfmesos.agent.core.executor_calls import ExecutorCalls
from tfmesos.agent.core.executor_tasks import ExecutorTasks
from tfmesos.agent.core.launches import Launches, Order
from tfmesos.agent.core.records import ExecutorRecord, FrameworkRecord, Kind, TaskKey, TaskRecord
from tfmesos.agent.core.reports import Reports, Status
from tfmesos.agent.core.resizing import Resizing
from tfmesos.agent.core.restoring import Clocks, Found, Restoration
from tfmesos.wire import executor_pb2, mesos_pb2

_UNKNOWN_TO_MASTER = "Reconciliation: task unknown to the agent"


class AgentCore:
    """All frameworks, executors and tasks of an agent."""

    def __init__(self, settings: CoreSettings) -> None:
        self._books = Books(settings)
        self._deadlines = Deadlines()
        self._reports = Reports(self._books)
        self._resizing = Resizing(self._books, self._reports)
        parts = (self._books, self._deadlines, self._reports)
        self._commands = CommandTasks(*parts)
        self._launches = Launches(self._books, self._reports, self._resizing)
        self._executors = ExecutorTasks(*parts, self._resizing)
        self._calls = ExecutorCalls(*parts, self._resizing, self._executors)
        self._restoration = Restoration(self._books, self._deadlines, self._resizing, self._commands)

    @property
    def settings(self) -> CoreSettings:
        return self._books.settings

    @property
    def frameworks(self) -> dict[str, FrameworkRecord]:
        """Those that have executors here, by id."""
        return self._books.frameworks

    @property
    def completed_frameworks(self) -> deque[FrameworkRecord]:
        """The last ones that had, oldest first."""
        return self._books.completed_frameworks

    @property
    def counts(self) -> Counter[str]:
        """How often what happened, by the names of Mesos' metrics without `slave/`."""
        return self._books.counts

    @property
    def draining(self) -> mesos_pb2.DrainConfig | None:
        """How the agent is being drained, if it is."""
        return self._books.draining

    def executors(self) -> Iterator[ExecutorRecord]:
        """All executors that are not forgotten."""
        return self._books.executors()

    def tasks(self) -> Iterator[TaskRecord]:
        """All tasks that are not completed."""
        return self._books.tasks()

    def find(self, key: TaskKey) -> TaskRecord | None:
        """A task that is not completed."""
        return self._books.find(key)

    def find_executor(self, framework_id: str, executor_id: str) -> ExecutorRecord | None:
        """An executor that is not forgotten."""
        return self._books.find_executor(framework_id, executor_id)

    def restore(self, kept: Recovered, found: Mapping[str, Found], clocks: Clocks) -> list[Action]:
        """Go on where the agent before has stopped. `found`: containers, by id; comes before all other events.

        Afterwards each container that was found is followed to its end, and `ended` is told of each other.
        """
        return self._restoration.restore(kept, found, clocks)

    def run(self, order: Order, container_id: str) -> list[Action]:
        """The master hands over tasks; `container_id` is for a new executor."""
        return self._launches.run(order, container_id)

    def forked(self, executor: ExecutorRecord, pid: int) -> list[Action]:
        """The container's supervisor waits at its gate."""
        executor.pid = pid
        if executor.kind is Kind.COMMAND:
            return self._commands.forked(executor)
        return self._executors.forked(executor)

    def opened(self, executor: ExecutorRecord, now: float, running: Running = NOTHING_SAID) -> list[Action]:
        """The container's program runs (or could not be executed, which `ended` tells)."""
        if executor.kind is Kind.COMMAND:
            return self._commands.opened(executor, now, running)
        return self._executors.opened(executor, now)

    def failed(self, executor: ExecutorRecord, message: str) -> list[Action]:
        """No container came to be: nothing of it is left."""
        executor.has_container = False
        self.counts["container_launch_errors"] += 1
        self.counts["executors_terminated"] += 1
        part = self._commands if executor.kind is Kind.COMMAND else self._executors
        return [*part.failed(executor, message), *self._books.settle(executor)]

    def ended(self, executor: ExecutorRecord, ending: Ending) -> list[Action]:
        """The container is gone with all its processes."""
        executor.has_container = False
        self.counts["executors_terminated"] += 1
        part = self._commands if executor.kind is Kind.COMMAND else self._executors
        return [*part.ended(executor, ending), *self._books.settle(executor)]

    def resized(self, executor: ExecutorRecord, fault: str | None = None) -> list[Action]:
        """The container holds what UpdateContainer asked for last, or why it cannot."""
        return self._resizing.resized(executor) if fault is None else self._executors.not_resized(executor, fault)

    def subscribed(self, executor: ExecutorRecord, call: executor_pb2.Call.Subscribe, now: float) -> list[Action]:
        """The executor has a stream now."""
        return self._calls.subscribed(executor, call, now)

    def updated(self, executor: ExecutorRecord, status: mesos_pb2.TaskStatus) -> list[Action]:
        """The executor says what became of a task; the status is the core's from now on."""
        return self._calls.updated(executor, status)

    def messaged(self, executor: ExecutorRecord, data: bytes) -> list[Action]:
        """The executor has a message for its framework."""
        return self._calls.messaged(executor, data)

    def stream_lost(self, executor: ExecutorRecord, now: float) -> list[Action]:
        """The executor's stream was lost."""
        return self._executors.stream_lost(executor, now)

    def message(self, framework_id: str, executor_id: str, data: bytes) -> list[Action]:
        """A framework has a message for its executor."""
        return self._executors.message(self.find_executor(framework_id, executor_id), data)

    def checked(self, record: TaskRecord, status: mesos_pb2.CheckStatusInfo) -> list[Action]:
        """A command task's check has told something new."""
        return self._commands.checked(record, status)

    def health_told(self, record: TaskRecord, healthy: bool) -> list[Action]:
        """A command task's health check has told something."""
        return self._commands.health_told(record, healthy)

    def unhealthy(self, record: TaskRecord) -> list[Action]:
        """A command task's health check has failed too often."""
        return self._commands.unhealthy(record)

    def kill(self, key: TaskKey, grace_s: float | None) -> list[Action]:
        """The framework wants a task to end; `grace_s` None: as the task says, else 3 s."""
        framework = self.frameworks.get(key.framework_id)
        if framework is None or framework.is_ending:
            return []
        record = framework.tasks.get(key.task_id)
        if record is None:
            reason = Status.REASON_EXECUTOR_TERMINATED
            return self._reports.unknown(framework.info, [key.task_id], "Cannot find executor", reason)
        return self._kill(record, grace_s)

    def shut_down_executor(self, framework_id: str, executor_id: str, now: float) -> list[Action]:
        """The framework wants an executor to end, with all its tasks."""
        executor = self.find_executor(framework_id, executor_id)
        return [] if executor is None or executor.framework.is_ending else self._shut_down(executor, now)

    def shut_down_framework(self, framework_id: str, now: float) -> list[Action]:
        """The framework is gone: its executors end, and nobody is told."""
        framework = self.frameworks.get(framework_id)
        if framework is None or framework.is_ending:
            return []
        framework.is_ending = True
        actions: list[Action] = [KeepFrameworkEnding(framework)]
        for executor in list(framework.executors.values()):
            actions += self._shut_down(executor, now) if executor.has_container else self._books.settle(executor)
        return actions

    def update_framework(self, info: mesos_pb2.FrameworkInfo) -> list[Action]:
        """The framework subscribed anew, perhaps with other capabilities."""
        framework = self.frameworks.get(info.id.value)
        if framework is None:
            return []
        framework.info = info
        return [KeepFramework(framework)]

    def acknowledged(self, key: TaskKey) -> list[Action]:
        """The framework has had the task's terminal update (or that of one before with this id, which was not here)."""
        record = self.find(key)
        return [] if record is None or not record.has_ended else self._books.complete(record)

    def report_unknown(self, info: mesos_pb2.FrameworkInfo, task_ids: Sequence[str]) -> list[Action]:
        """The master knows tasks, some of which are not here: it is told so."""
        missing = [task_id for task_id in task_ids if self.find(TaskKey(info.id.value, task_id)) is None]
        return self._reports.unknown(info, missing, _UNKNOWN_TO_MASTER, Status.REASON_RECONCILIATION)

    def drain(self, config: mesos_pb2.DrainConfig, now: float) -> list[Action]:
        """Kill all tasks, within the longest grace that the operator gives, and take no others."""
        if self._books.draining is not None or not self.frameworks:
            return []  # the master says it again at each registration; with nothing here the drain is over at once
        self._books.draining = config
        actions: list[Action] = [KeepDrain(config)]
        limit_s = config.max_grace_period.nanoseconds / NANOSECONDS if config.HasField("max_grace_period") else None
        for record in list(self.tasks()):
            if not record.executor.framework.is_ending:
                own_s = grace_of(record.info)
                actions += self._kill(record, None if limit_s is None else min(limit_s, own_s))
        return actions

    def deadline(self) -> float | None:
        """When `tick` has something to do, if ever."""
        return self._deadlines.first()

    def tick(self, now: float) -> list[Action]:
        """Act on what took too long."""
        actions: list[Action] = []
        for executor in self._deadlines.pop(now):
            part = self._commands if executor.kind is Kind.COMMAND else self._executors
            actions += part.overdue(executor)
        return actions

    def _kill(self, record: TaskRecord, grace_s: float | None) -> list[Action]:
        part = self._commands if record.executor.kind is Kind.COMMAND else self._executors
        return part.kill(record, grace_s)

    def _shut_down(self, executor: ExecutorRecord, now: float) -> list[Action]:
        if executor.kind is Kind.COMMAND:
            return self._commands.shut_down(executor, self.settings.shutdown_grace_s)
        return self._executors.shut_down(executor, now)
