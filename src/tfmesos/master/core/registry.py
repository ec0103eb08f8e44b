"""What a master must not forget over a restart: its agents, and which frameworks ended. Pure.

An `Operation` changes the state; applied twice it changes nothing more. The core applies each at once and has it
written (action `Record`) before any message that follows leaves (Mesos 1.11: src/master/registry_operations.cpp).
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, TypeVar, assert_never

from tfmesos.master.ids import AgentId, FrameworkId
from tfmesos.wire import mesos_pb2, scheduler_pb2

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_MAX_REMEMBERED = 102_400
"""Mesos 1.11: --registry_max_agent_count, of unreachable agents and of gone ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmitAgent:
    """An agent registered, came back, or changed. Its marks stay."""

    info: mesos_pb2.AgentInfo
    pid: str
    """Where it can be told that its master is back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveAgent:
    """An agent left for good, or another took its place."""

    agent_id: AgentId


@dataclass(frozen=True, slots=True, kw_only=True)
class LoseAgent:
    """An agent is unreachable; it may come back. Its marks stay."""

    agent_id: AgentId
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkAgentGone:
    """An operator says that an agent will never come back."""

    agent_id: AgentId
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkAgent:
    """An operator deactivated or drains an agent, or it is drained, or in service again: all marks anew."""

    agent_id: AgentId
    is_deactivated: bool
    drain: mesos_pb2.DrainInfo | None = None
    drain_started_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndFramework:
    """A framework is completed: its id is refused from now on."""

    framework_id: FrameworkId


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepDriver:
    """A framework is reached by a scheduler driver's pid. Drivers do not notice a restart: their frameworks go on."""

    info: mesos_pb2.FrameworkInfo
    pid: str
    suppressed: str
    """The roles it wants no offers for, separated by spaces (no role has one)."""
    constraints: scheduler_pb2.OfferConstraints | None = None
    """Of which agents it wants offers, if not of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetDriver:
    """A framework is not reached by a driver any more."""

    framework_id: FrameworkId


@dataclass(frozen=True, slots=True, kw_only=True)
class SetWeight:
    """A role has this weight."""

    info: mesos_pb2.WeightInfo


Operation: TypeAlias = (
    AdmitAgent
    | RemoveAgent
    | LoseAgent
    | MarkAgentGone
    | MarkAgent
    | EndFramework
    | KeepDriver
    | ForgetDriver
    | SetWeight
)


@dataclass(slots=True)
class RegistryState:
    """The sum of all operations."""

    max_completed_frameworks: int = 50
    admitted: dict[AgentId, AdmitAgent] = field(default_factory=dict)
    unreachable: OrderedDict[AgentId, float] = field(default_factory=OrderedDict)
    """Since when; oldest first."""
    gone: OrderedDict[AgentId, float] = field(default_factory=OrderedDict)
    marks: dict[AgentId, MarkAgent] = field(default_factory=dict)
    """Of admitted and unreachable agents that are deactivated or drain."""
    completed: OrderedDict[FrameworkId, None] = field(default_factory=OrderedDict)
    drivers: dict[FrameworkId, KeepDriver] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)

    def apply(self, operation: Operation) -> None:
        """Take an operation in."""
        match operation:
            case AdmitAgent(info=info):
                agent_id = AgentId(info.id.value)
                self.unreachable.pop(agent_id, None)
                self.admitted[agent_id] = operation
            case RemoveAgent(agent_id=agent_id):
                self._forget(agent_id)
            case LoseAgent(agent_id=agent_id, at_s=at_s):
                self.admitted.pop(agent_id, None)
                for evicted in _put(self.unreachable, agent_id, at_s, _MAX_REMEMBERED):
                    self.marks.pop(evicted, None)
            case MarkAgentGone(agent_id=agent_id, at_s=at_s):
                self._forget(agent_id)
                _put(self.gone, agent_id, at_s, _MAX_REMEMBERED)
            case MarkAgent(agent_id=agent_id):
                self.marks.pop(agent_id, None)
                if operation.is_deactivated or operation.drain is not None:
                    self.marks[agent_id] = operation
            case EndFramework(framework_id=framework_id):
                self.drivers.pop(framework_id, None)
                _put(self.completed, framework_id, None, self.max_completed_frameworks)
            case KeepDriver(info=info):
                self.drivers[FrameworkId(info.id.value)] = operation
            case ForgetDriver(framework_id=framework_id):
                self.drivers.pop(framework_id, None)
            case SetWeight(info=info):
                self.weights[info.role] = info.weight
            case _:
                assert_never(operation)

    def operations(self) -> Iterator[Operation]:
        """A shortest story that leads to this state, for a file written anew."""
        yield from self.admitted.values()
        for agent_id, at_s in self.unreachable.items():
            yield LoseAgent(agent_id=agent_id, at_s=at_s)
        for agent_id, at_s in self.gone.items():
            yield MarkAgentGone(agent_id=agent_id, at_s=at_s)
        yield from self.marks.values()
        for framework_id in self.completed:
            yield EndFramework(framework_id=framework_id)
        yield from self.drivers.values()
        for role, weight in self.weights.items():
            yield SetWeight(info=mesos_pb2.WeightInfo(role=role, weight=weight))

    def _forget(self, agent_id: AgentId) -> None:
        self.admitted.pop(agent_id, None)
        self.unreachable.pop(agent_id, None)
        self.marks.pop(agent_id, None)


class Registry(Protocol):
    """Keeps a state on disk, or nowhere.

    The engine opens it before the core is made and gives `state` to the core, which alone changes it from then on. It
    calls `record` once for each operation, after the state took it in; what was recorded survives the end of the
    process at once.
    """

    @property
    def state(self) -> RegistryState:
        """The state as read when it was opened, then the living one."""
        ...

    @property
    def size(self) -> int:
        """Bytes on disk."""
        ...

    def record(self, operation: Operation) -> None:
        """Write an operation down; may write the whole state anew instead."""
        ...

    async def sync(self) -> None:
        """Until all that was recorded survives a loss of power, too."""
        ...

    def close(self) -> None:
        """Let go of the file. Idempotent."""
        ...


class MemoryRegistry:
    """A `Registry` that writes nothing (Mesos 1.11: --registry=in_memory)."""

    def __init__(self, max_completed_frameworks: int) -> None:
        self._state = RegistryState(max_completed_frameworks)

    @property
    def state(self) -> RegistryState:
        """Empty at first."""
        return self._state

    @property
    def size(self) -> int:
        """Nothing is on disk."""
        return 0

    def record(self, operation: Operation) -> None:
        """Nothing to do."""

    async def sync(self) -> None:
        """Nothing to wait for."""

    def close(self) -> None:
        """Nothing to close."""


def _put(remembered: OrderedDict[_Key, _Value], key: _Key, value: _Value, limit: int) -> list[_Key]:
    """Enter the value; returns the keys that had to go for it, oldest first."""
    remembered[key] = value
    return [remembered.popitem(last=False)[0] for _ in range(len(remembered) - limit)]
