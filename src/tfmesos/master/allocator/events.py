"""What an allocator is told and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tfmesos.master.ids import AgentId, FrameworkId
from tfmesos.resources import Resources
from tfmesos.wire import scheduler_pb2

Quantities = tuple[tuple[str, int], ...]
"""Names with thousandths; as a minimum: all of them are needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkTraits:
    """What decides whether a framework may be shown something."""

    gpu_aware: bool = False
    multi_role: bool = False
    revocable: bool = False
    refinement: bool = False
    minimums: Mapping[str, tuple[Quantities, ...]] = field(default_factory=dict)
    """Alternatives by role; each replaces the allocator's own minimum (Mesos 1.11: FrameworkInfo.offer_filters)."""
    constraints: Mapping[str, scheduler_pb2.OfferConstraints.RoleConstraints] = field(default_factory=dict)
    """By role; a role without any wants every agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTraits:
    """What decides to whom an agent may be shown, besides its resources."""

    multi_role: bool = True
    hierarchical: bool = True
    hostname: str = ""
    region: str | None = None
    zone: str | None = None
    attributes: Mapping[str, str | None] = field(default_factory=dict)
    """By name, the first of each; None for one that is no text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkSet:
    """A framework came, or changed; `active` is as before if it is known, else true."""

    framework_id: FrameworkId
    roles: frozenset[str]
    suppressed: frozenset[str]
    traits: FrameworkTraits


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkSetActive:
    """A framework connected, or is away: then it gets nothing and its filters are forgotten."""

    framework_id: FrameworkId
    is_active: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkRemoved:
    """A framework is gone; what it used was recovered before."""

    framework_id: FrameworkId


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAdded:
    """An agent came, active, with what frameworks use on it already."""

    agent_id: AgentId
    total: Resources
    used: Mapping[FrameworkId, Resources] = field(default_factory=dict)
    traits: AgentTraits = AgentTraits()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentUpdated:
    """An agent's total changed; what is used stays used."""

    agent_id: AgentId
    total: Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentChanged:
    """An agent's attributes or capabilities changed: what was refused of it is forgotten (Mesos 1.11)."""

    agent_id: AgentId
    traits: AgentTraits


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSetActive:
    """An agent connected, or is away: then nothing of it is offered."""

    agent_id: AgentId
    is_active: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRemoved:
    """An agent is gone with all that was used on it."""

    agent_id: AgentId


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsSet:
    """The weights of all roles that have another than 1."""

    weights: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcesUsed:
    """A framework uses resources that no allocation gave: a task the agent brought with it."""

    framework_id: FrameworkId
    agent_id: AgentId
    resources: Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcesRecovered:
    """Allocated resources are free again; `refuse_s` > 0 hides them from this framework's role for so long."""

    framework_id: FrameworkId
    agent_id: AgentId
    resources: Resources
    role: str = "*"
    refuse_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OffersSuppressed:
    """The framework wants nothing for these roles until it revives them."""

    framework_id: FrameworkId
    roles: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffersRevived:
    """The framework wants offers for these roles again: suppression and filters end."""

    framework_id: FrameworkId
    roles: frozenset[str]


AllocatorEvent = (
    FrameworkSet
    | FrameworkSetActive
    | FrameworkRemoved
    | AgentAdded
    | AgentUpdated
    | AgentChanged
    | AgentSetActive
    | AgentRemoved
    | ResourcesUsed
    | ResourcesRecovered
    | OffersSuppressed
    | OffersRevived
    | WeightsSet
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """Resources of one agent given to one framework for one role; they carry the role."""

    framework_id: FrameworkId
    role: str
    agent_id: AgentId
    resources: Resources


class Allocator(Protocol):
    """Shares agents out among frameworks.

    The master tells every change through `handle` in the order it happened and calls `allocate` when something new may
    be offered; each allocation counts as given until it comes back as `ResourcesRecovered` (whole or in parts) or its
    agent is removed. Given resources never exceed an agent's total unless the total shrank. Unknown ids are ignored.
    """

    def handle(self, event: AllocatorEvent, now: float) -> None:
        """Take note of a change; gives nothing by itself."""
        ...

    def allocate(self, now: float) -> list[Allocation]:
        """Give what may be given now."""
        ...
