"""What the master knows: frameworks, agents, tasks, offers. No decisions here."""

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from tfmesos.master.core.lifecycle import AGENT_STEPS, FRAMEWORK_STEPS, AgentState, FrameworkState, Life
from tfmesos.master.core.registry import MarkAgent, RegistryState
from tfmesos.master.ids import AgentId, ExecutorId, FrameworkId, OfferId, StreamId, TaskId
from tfmesos.resources import Resources
from tfmesos.transport import NO_PID, Pid
from tfmesos.wire import mesos_pb2, scheduler_pb2
from tfmesos.wire.text import TERMINAL_STATES


@dataclass(slots=True, eq=False, weakref_slot=True)
class Task:
    """One task; `message` is the v1 Task with its statuses."""

    message: mesos_pb2.Task
    resources: Resources
    """With the role they are allocated to."""
    holds: bool = True
    """Whether the resources are still in use: until the latest state is terminal."""
    is_killed: bool = False
    kill_policy: mesos_pb2.KillPolicy | None = None
    revision: int = 0
    """Grows with each change of the message."""

    @property
    def id(self) -> TaskId:
        """Its id."""
        return TaskId(self.message.task_id.value)

    @property
    def framework_id(self) -> FrameworkId:
        """Whose it is."""
        return FrameworkId(self.message.framework_id.value)

    @property
    def agent_id(self) -> AgentId:
        """Where it runs."""
        return AgentId(self.message.agent_id.value)

    @property
    def is_terminal(self) -> bool:
        """Whether its latest state is an end."""
        return self.message.state in TERMINAL_STATES


@dataclass(slots=True)
class Executor:
    """A custom executor on an agent."""

    info: mesos_pb2.ExecutorInfo
    resources: Resources


@dataclass(frozen=True, slots=True)
class Offer:
    """Resources of one agent shown to one framework for one role."""

    id: OfferId
    framework_id: FrameworkId
    agent_id: AgentId
    role: str
    resources: Resources


class Framework:
    """One framework, live or completed."""

    def __init__(self, info: mesos_pb2.FrameworkInfo, state: FrameworkState, now: float, limits: "Limits") -> None:
        self.info = info
        self.life = Life(f"framework {info.id.value}", FRAMEWORK_STEPS, state)
        self.stream_id: StreamId | None = None
        self.pid = NO_PID
        """The scheduler driver's, if it is one that subscribed over libprocess."""
        self.is_aborted = False
        """Whether its driver was aborted: it is there, but wants no offers until it subscribes again."""
        self.suppressed: frozenset[str] = frozenset()
        self.offer_constraints = scheduler_pb2.OfferConstraints()
        self.tasks: dict[TaskId, Task] = {}
        self.completed: deque[Task] = deque(maxlen=limits.completed_tasks)
        self.unreachable: OrderedDict[TaskId, Task] = OrderedDict()
        self.offers: dict[OfferId, Offer] = {}
        self.counts: Counter[str] = Counter()
        """Metrics that only grow, by Mesos' name below `master/frameworks/<name>/<id>/`."""
        self.registered_s = now
        self.reregistered_s = now
        self.unregistered_s = 0.0

    @property
    def id(self) -> FrameworkId:
        """Its id."""
        return FrameworkId(self.info.id.value)

    @property
    def is_connected(self) -> bool:
        """Whether it has a stream or a driver."""
        return self.life.state is FrameworkState.CONNECTED

    @property
    def is_active(self) -> bool:
        """Whether it is offered something."""
        return self.is_connected and not self.is_aborted

    def has(self, capability: int) -> bool:
        """Whether it announced this FrameworkInfo.Capability."""
        return any(one.type == capability for one in self.info.capabilities)

    def __str__(self) -> str:
        return f"framework {self.id} ({self.info.name})"


class Agent:
    """One registered agent."""

    def __init__(self, info: mesos_pb2.AgentInfo, pid: Pid, now: float) -> None:
        self.info = info
        self.pid = pid
        self.life = Life(f"agent {info.id.value}", AGENT_STEPS, AgentState.CONNECTED)
        self.version = ""
        self.capabilities: frozenset[int] = frozenset()
        self.resource_version: bytes = b""
        self.total = Resources()
        self.tasks: dict[FrameworkId, dict[TaskId, Task]] = {}
        self.executors: dict[FrameworkId, dict[ExecutorId, Executor]] = {}
        self.offers: dict[OfferId, Offer] = {}
        self.observer = 0
        self.missed_pings = 0
        self.marks: MarkAgent | None = None
        """Those of the registry: an operator deactivated or drains it."""
        self.registered_s = now
        self.reregistered_s: float | None = None

    @property
    def id(self) -> AgentId:
        """Its id."""
        return AgentId(self.info.id.value)

    @property
    def is_connected(self) -> bool:
        """Whether its link holds."""
        return self.life.state is AgentState.CONNECTED

    @property
    def is_active(self) -> bool:
        """Whether it is offered: linked, and no operator took it out of service (a draining one is)."""
        return self.is_connected and not self.is_deactivated

    @property
    def is_deactivated(self) -> bool:
        """Whether an operator took it out of service."""
        return self.marks is not None and self.marks.is_deactivated

    @property
    def drain(self) -> mesos_pb2.DrainInfo | None:
        """How far its draining is, if it drains or is drained."""
        return self.marks.drain if self.marks is not None else None

    @property
    def drain_started_s(self) -> float | None:
        """Since when."""
        return self.marks.drain_started_s if self.marks is not None else None

    def all_tasks(self) -> Iterator[Task]:
        """Every task on it, also ended ones that nobody acknowledged."""
        for tasks in self.tasks.values():
            yield from tasks.values()

    def used(self) -> Resources:
        """What tasks and executors use."""
        parts = [self.used_by(framework_id) for framework_id in {*self.tasks, *self.executors}]
        return Resources.total(parts)

    def used_by(self, framework_id: FrameworkId) -> Resources:
        """What one framework's tasks and executors use."""
        tasks = (task.resources for task in self.tasks.get(framework_id, {}).values() if task.holds)
        executors = (executor.resources for executor in self.executors.get(framework_id, {}).values())
        return Resources.total(chain(tasks, executors))

    def offered(self) -> Resources:
        """What is in offers."""
        return Resources.total(offer.resources for offer in self.offers.values())

    def __str__(self) -> str:
        return f"agent {self.id} at {self.pid} ({self.info.hostname})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much of the past is remembered."""

    completed_frameworks: int = 50
    completed_tasks: int = 1000
    unreachable_tasks: int = 1000


@dataclass(slots=True)
class Books:
    """Everything, by id."""

    master: mesos_pb2.MasterInfo
    limits: Limits
    registry: RegistryState
    """What outlives this master; changed only through the ledger."""
    frameworks: dict[FrameworkId, Framework] = field(default_factory=dict)
    completed_frameworks: OrderedDict[FrameworkId, Framework] = field(default_factory=OrderedDict)
    agents: dict[AgentId, Agent] = field(default_factory=dict)
    agents_by_pid: dict[Pid, Agent] = field(default_factory=dict)
    agents_by_observer: dict[int, Agent] = field(default_factory=dict)
    recovered_agents: dict[AgentId, mesos_pb2.AgentInfo] = field(init=False)
    """Admitted before this master started, and not back yet."""
    offers: dict[OfferId, Offer] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    """Metrics that only grow, by Mesos' name without `master/`."""
    weights: dict[str, float] = field(default_factory=dict)
    """Of roles; those without one have 1."""
    _next: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.recovered_agents = {agent_id: one.info for agent_id, one in self.registry.admitted.items()}

    @property
    def unreachable_agents(self) -> Mapping[AgentId, float]:
        """Since when; they may come back."""
        return self.registry.unreachable

    @property
    def gone_agents(self) -> Mapping[AgentId, float]:
        """Since when; they may not come back."""
        return self.registry.gone

    def new_framework_id(self) -> FrameworkId:
        """`<master id>-0000`, …"""
        return FrameworkId(f"{self.master.id}-{self._count('framework'):04d}")

    def new_agent_id(self) -> AgentId:
        """`<master id>-S0`, …"""
        return AgentId(f"{self.master.id}-S{self._count('agent')}")

    def new_offer_id(self) -> OfferId:
        """`<master id>-O0`, …"""
        return OfferId(f"{self.master.id}-O{self._count('offer')}")

    def new_observer(self) -> int:
        """1, 2, …: the n of `slave-observer(n)`."""
        return self._count("observer") + 1

    def connected_frameworks(self) -> Iterable[Framework]:
        """Those with a stream."""
        return [framework for framework in self.frameworks.values() if framework.is_connected]

    def connected_agents(self) -> Iterable[Agent]:
        """Those with a link."""
        return [agent for agent in self.agents.values() if agent.is_connected]

    def executors_of(self, framework_id: FrameworkId) -> Iterator[tuple[Agent, Executor]]:
        """A framework's custom executors and where they run."""
        for agent in self.agents.values():
            for executor in agent.executors.get(framework_id, {}).values():
                yield agent, executor

    def _count(self, what: str) -> int:
        number = self._next[what]
        self._next[what] += 1
        return number
