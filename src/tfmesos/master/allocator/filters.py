"""Refused offers: what a framework does not want to see again for a while."""

from collections import Counter, defaultdict
from dataclasses import dataclass

from tfmesos.master.ids import AgentId, FrameworkId
from tfmesos.resources import Resources


@dataclass(frozen=True, slots=True)
class _Refusal:
    resources: Resources
    until: float


class OfferFilters:
    """Refusals by framework, role and agent; a refusal hides resources that it contains, never more."""

    def __init__(self) -> None:
        self._refusals: defaultdict[tuple[FrameworkId, str], dict[AgentId, list[_Refusal]]] = defaultdict(dict)

    def add(self, owner: tuple[FrameworkId, str], agent_id: AgentId, resources: Resources, until: float) -> None:
        """Hide `resources` of the agent from the framework and role until then."""
        known = self._refusals[owner].get(agent_id, [])
        # What the new one hides as long, it replaces: else long refusals of growing offers would pile up.
        kept = [one for one in known if one.until > until or not resources.contains(one.resources)]
        self._refusals[owner][agent_id] = [*kept, _Refusal(resources, until)]

    def is_hidden(self, owner: tuple[FrameworkId, str], agent_id: AgentId, resources: Resources, now: float) -> bool:
        """Whether a refusal that still holds contains these resources."""
        if owner not in self._refusals or agent_id not in self._refusals[owner]:
            return False
        alive = [refusal for refusal in self._refusals[owner][agent_id] if refusal.until > now]
        if alive:
            self._refusals[owner][agent_id] = alive
        else:
            del self._refusals[owner][agent_id]
        return any(refusal.resources.contains(resources) for refusal in alive)

    def active(self, now: float) -> Counter[str]:
        """How many refusals hold, by role."""
        counts: Counter[str] = Counter()
        for (_, role), agents in self._refusals.items():
            counts[role] += sum(one.until > now for refusals in agents.values() for one in refusals)
        return counts

    def forget_roles(self, framework_id: FrameworkId, roles: frozenset[str]) -> None:
        """Drop the refusals of these roles of the framework."""
        for role in roles:
            self._refusals.pop((framework_id, role), None)

    def forget_framework(self, framework_id: FrameworkId) -> None:
        """Drop all refusals of the framework."""
        for owner in [owner for owner in self._refusals if owner[0] == framework_id]:
            del self._refusals[owner]

    def forget_agent(self, agent_id: AgentId) -> None:
        """Drop all refusals of the agent."""
        for refusals in self._refusals.values():
            refusals.pop(agent_id, None)
