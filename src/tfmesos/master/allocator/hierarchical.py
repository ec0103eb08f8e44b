"""The hierarchical DRF allocator: roles in a tree share by weight, a role's frameworks share evenly.

Mesos 1.11: src/master/allocator/mesos/hierarchical.cpp. An agent's whole free rest that a role may have goes to the
framework that is furthest behind. Quotas are not part of this master.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import assert_never

from tfmesos.master.allocator.constraints import is_wanted
from tfmesos.master.allocator.events import (
    AgentAdded,
    AgentChanged,
    AgentRemoved,
    AgentSetActive,
    AgentTraits,
    AgentUpdated,
    Allocation,
    AllocatorEvent,
    FrameworkRemoved,
    FrameworkSet,
    FrameworkSetActive,
    FrameworkTraits,
    OffersRevived,
    OffersSuppressed,
    Quantities,
    ResourcesRecovered,
    ResourcesUsed,
    WeightsSet,
)
from tfmesos.master.allocator.filters import OfferFilters
from tfmesos.master.allocator.shares import Shares, quantities, quantities_by_role
from tfmesos.master.ids import AgentId, FrameworkId
from tfmesos.resources import Resources

_SELF = "."
"""The name, below a role that has children, of what the role's own frameworks hold. No role component may be '.'."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocatorOptions:
    """The flags that an allocator obeys."""

    filter_gpu_resources: bool = True
    minimums: tuple[Quantities, ...] = ()
    excluded_names: tuple[str, ...] = ()
    random_roles: bool = False
    random_frameworks: bool = False


@dataclass(slots=True)
class _Framework:
    roles: frozenset[str]
    suppressed: frozenset[str]
    traits: FrameworkTraits
    is_active: bool = True


@dataclass(slots=True)
class _Agent:
    total: Resources
    traits: AgentTraits
    is_active: bool = True
    given: dict[FrameworkId, Resources] = field(default_factory=dict)
    free: Resources = field(default_factory=Resources)
    has_gpus: bool = False

    def recount(self) -> None:
        """Work the free rest out; what a shrunk total no longer holds counts as nothing."""
        used = sum((resources.unallocated() for resources in self.given.values()), Resources())
        self.free = self.total - used if self.total.contains(used) else Resources()
        self.has_gpus = self.total.scalar("gpus") > 0


class HierarchicalAllocator:
    """An `Allocator`; `random` decides only the order of agents (and of clients, with the random sorters)."""

    def __init__(self, options: AllocatorOptions, random: Random) -> None:
        self._options = options
        self._random = random
        self._frameworks: dict[FrameworkId, _Framework] = {}
        self._agents: dict[AgentId, _Agent] = {}
        self._filters = OfferFilters()
        self._weights: Mapping[str, float] = {}
        self._role_shares: Shares[str] = Shares(options.excluded_names)
        self._framework_shares: Shares[tuple[str, FrameworkId]] = Shares(options.excluded_names)

    def given(self, agent_id: AgentId) -> Mapping[FrameworkId, Resources]:
        """What each framework was given of an agent and has not returned."""
        return self._agents[agent_id].given if agent_id in self._agents else {}

    def measures(self, now: float) -> dict[str, float]:
        """Of each role that frameworks have: refusals that hold, and the dominant share, by Mesos' metric names."""
        roles = sorted({role for framework in self._frameworks.values() for role in framework.roles})
        refusals = self._filters.active(now)
        active = {f"offer_filters/roles/{role}/active": float(refusals[role]) for role in roles}
        return active | {f"roles/{role}/shares/dominant": self._role_shares.share(role) for role in roles}

    def handle(self, event: AllocatorEvent, now: float) -> None:
        """Take note of a change; gives nothing by itself."""
        match event:
            case FrameworkSet():
                self._set_framework(event)
            case FrameworkSetActive(framework_id=framework_id, is_active=is_active):
                self._set_framework_active(framework_id, is_active)
            case FrameworkRemoved(framework_id=framework_id):
                self._frameworks.pop(framework_id, None)
                self._filters.forget_framework(framework_id)
            case OffersSuppressed(framework_id=framework_id, roles=roles):
                if framework_id in self._frameworks:
                    self._frameworks[framework_id].suppressed |= roles
            case OffersRevived(framework_id=framework_id, roles=roles):
                if framework_id in self._frameworks:
                    self._frameworks[framework_id].suppressed -= roles
                    self._filters.forget_roles(framework_id, roles)
            case WeightsSet(weights=weights):
                self._weights = weights
            case ResourcesUsed() | ResourcesRecovered():
                self._handle_resources(event, now)
            case AgentAdded() | AgentUpdated() | AgentChanged() | AgentSetActive() | AgentRemoved():
                self._handle_agent(event)
            case _:
                assert_never(event)

    def allocate(self, now: float) -> list[Allocation]:
        """Give every free rest to the client furthest behind that may and wants to have it."""
        agents = [(agent_id, agent) for agent_id, agent in self._agents.items() if agent.is_active and agent.free]
        self._random.shuffle(agents)
        return [allocation for agent_id, agent in agents for allocation in self._share_out(agent_id, agent, now)]

    def _set_framework(self, event: FrameworkSet) -> None:
        known = self._frameworks.get(event.framework_id)
        is_active = known.is_active if known else True
        self._frameworks[event.framework_id] = _Framework(event.roles, event.suppressed, event.traits, is_active)

    def _set_framework_active(self, framework_id: FrameworkId, is_active: bool) -> None:
        if framework_id in self._frameworks:
            self._frameworks[framework_id].is_active = is_active
        if not is_active:
            self._filters.forget_framework(framework_id)

    def _handle_agent(self, event: AgentAdded | AgentUpdated | AgentChanged | AgentSetActive | AgentRemoved) -> None:
        match event:
            case AgentAdded(agent_id=agent_id):
                self._remove_agent(agent_id)
                agent = _Agent(event.total, event.traits)
                self._agents[agent_id] = agent
                self._grow(event.total)
                for framework_id, resources in event.used.items():
                    self._give(framework_id, agent, resources)
                agent.recount()
            case AgentUpdated(agent_id=agent_id, total=total):
                if agent_id in self._agents:
                    agent = self._agents[agent_id]
                    self._shrink(agent.total)
                    self._grow(total)
                    agent.total = total
                    agent.recount()
            case AgentChanged(agent_id=agent_id):
                if agent_id in self._agents:
                    self._agents[agent_id].traits = event.traits
                self._filters.forget_agent(agent_id)
            case AgentSetActive(agent_id=agent_id, is_active=is_active):
                if agent_id in self._agents:
                    self._agents[agent_id].is_active = is_active
            case AgentRemoved(agent_id=agent_id):
                self._remove_agent(agent_id)

    def _remove_agent(self, agent_id: AgentId) -> None:
        if agent_id not in self._agents:
            return
        agent = self._agents.pop(agent_id)
        for framework_id, resources in agent.given.items():
            self._account(framework_id, resources, Shares.remove, Shares.remove)
        self._shrink(agent.total)
        self._filters.forget_agent(agent_id)

    def _handle_resources(self, event: ResourcesUsed | ResourcesRecovered, now: float) -> None:
        agent = self._agents.get(event.agent_id)
        if agent is None:
            return
        if isinstance(event, ResourcesUsed):
            self._give(event.framework_id, agent, event.resources)
            agent.recount()
            return
        given = agent.given.get(event.framework_id, Resources())
        if not given.contains(event.resources):
            return
        rest = given - event.resources
        if rest:
            agent.given[event.framework_id] = rest
        else:
            agent.given.pop(event.framework_id, None)
        agent.recount()
        self._account(event.framework_id, event.resources, Shares.remove, Shares.remove)
        if event.refuse_s > 0 and event.resources:
            owner = (event.framework_id, event.role)
            self._filters.add(owner, event.agent_id, event.resources.unallocated(), now + event.refuse_s)

    def _share_out(self, agent_id: AgentId, agent: _Agent, now: float) -> Iterator[Allocation]:
        for role in self._sorted_roles():
            for framework_id in self._sorted_frameworks(role):
                if not agent.free:
                    return
                candidate = self._candidate(agent, self._frameworks[framework_id], role)
                if candidate is None or self._filters.is_hidden((framework_id, role), agent_id, candidate, now):
                    continue
                agent.free -= candidate
                resources = candidate.allocated(role)
                self._give(framework_id, agent, resources)
                yield Allocation(framework_id=framework_id, role=role, agent_id=agent_id, resources=resources)

    def _candidate(self, agent: _Agent, framework: _Framework, role: str) -> Resources | None:
        traits = framework.traits
        if self._options.filter_gpu_resources and agent.has_gpus and not traits.gpu_aware:
            return None
        if (traits.multi_role and not agent.traits.multi_role) or ("/" in role and not agent.traits.hierarchical):
            return None
        if role in traits.constraints and not is_wanted(agent.traits, traits.constraints[role]):
            return None
        candidate = agent.free.allocatable_to(role)
        if not traits.revocable:
            candidate = candidate.nonrevocable()
        if not traits.refinement:
            candidate = Resources(entry for entry in candidate if len(entry.key.reservations) < 2)
        minimums = traits.minimums.get(role, self._options.minimums)
        return candidate if candidate and _holds_one(candidate, minimums) else None

    def _sorted_roles(self) -> list[str]:
        roles = {role for _, framework in self._wanting() for role in framework.roles - framework.suppressed}
        if self._options.random_roles:
            shuffled = sorted(roles)
            self._random.shuffle(shuffled)
            return shuffled
        return sorted(roles, key=self._role_order)

    def _role_order(self, role: str) -> list[tuple[tuple[float, int], str]]:
        nodes = [*_ancestry(role), f"{role}/{_SELF}"]
        return [(self._role_shares.order(node, self._weights.get(node, 1.0)), node) for node in nodes]

    def _sorted_frameworks(self, role: str) -> list[FrameworkId]:
        wanting = [fid for fid, framework in self._wanting() if role in framework.roles - framework.suppressed]
        if self._options.random_frameworks:
            self._random.shuffle(wanting)
            return wanting
        return sorted(wanting, key=lambda fid: (self._framework_shares.order((role, fid)), fid))

    def _wanting(self) -> Iterator[tuple[FrameworkId, _Framework]]:
        return ((fid, framework) for fid, framework in self._frameworks.items() if framework.is_active)

    def _give(self, framework_id: FrameworkId, agent: _Agent, resources: Resources) -> None:
        agent.given[framework_id] = agent.given.get(framework_id, Resources()) + resources
        self._account(framework_id, resources, Shares.add, Shares.add)

    def _account(
        self,
        framework_id: FrameworkId,
        resources: Resources,
        change_role: Callable[[Shares[str], str, dict[str, int]], None],
        change_framework: Callable[[Shares[tuple[str, FrameworkId]], tuple[str, FrameworkId], dict[str, int]], None],
    ) -> None:
        for role, amounts in quantities_by_role(resources).items():
            for node in (*_ancestry(role), f"{role}/{_SELF}"):
                change_role(self._role_shares, node, amounts)
            change_framework(self._framework_shares, (role, framework_id), amounts)

    def _grow(self, total: Resources) -> None:
        self._role_shares.grow(quantities(total))
        self._framework_shares.grow(quantities(total))

    def _shrink(self, total: Resources) -> None:
        self._role_shares.shrink(quantities(total))
        self._framework_shares.shrink(quantities(total))


def _holds_one(candidate: Resources, alternatives: tuple[Quantities, ...]) -> bool:
    if not alternatives:
        return True
    return any(all(candidate.scalar(name) >= amount for name, amount in one) for one in alternatives)


def _ancestry(role: str) -> list[str]:
    parts = role.split("/")
    return ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
