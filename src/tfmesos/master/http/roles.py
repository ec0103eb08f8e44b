"""What there is to tell of roles: /roles and GET_ROLES (Mesos 1.11)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tfmesos.master.core.books import Books
from tfmesos.resources import Resources

Quantities = dict[str, float]


@dataclass(slots=True)
class Role:
    """One role that somebody uses or gave a weight."""

    name: str
    weight: float = 1.0
    frameworks: list[str] = field(default_factory=list)
    allocated: Quantities = field(default_factory=dict)
    offered: Quantities = field(default_factory=dict)
    reserved: Quantities = field(default_factory=dict)

    @property
    def resources(self) -> Quantities:
        """Allocated and offered."""
        names = sorted({*self.allocated, *self.offered})
        return {name: self.allocated.get(name, 0.0) + self.offered.get(name, 0.0) for name in names}

    def to_json(self) -> dict[str, object]:
        """An entry of /roles. Quotas are not part of this master; what counts against one is shown all the same."""
        consumed = {name: amount for name, amount in self.allocated.items() if name != "ports"}
        return {
            "name": self.name,
            "weight": self.weight,
            "quota": {"role": self.name, "guarantee": {}, "limit": {}, "consumed": consumed},
            "resources": self.resources,
            "allocated": self.allocated,
            "offered": self.offered,
            "reserved": self.reserved,
            "frameworks": self.frameworks,
        }


def known_roles(books: Books, whitelist: Iterable[str]) -> list[Role]:
    """Roles of frameworks, allocations and reservations, those with a weight or whitelisted, and their ancestors."""
    roles: dict[str, Role] = {}
    weights = books.weights

    def role(name: str) -> Role:
        unknown = name
        while unknown and unknown not in roles:
            roles[unknown] = Role(unknown, weights.get(unknown, 1.0))
            unknown = unknown.rpartition("/")[0]
        return roles[name]

    for name in (*weights, *whitelist):
        role(name)
    for framework in books.frameworks.values():
        for name in framework.info.roles or [framework.info.role]:
            role(name).frameworks.append(framework.id)
    agents = books.agents.values()
    for name, amounts in _by_role(agent.used() for agent in agents).items():
        role(name).allocated = amounts
    for name, amounts in _by_role(agent.offered() for agent in agents).items():
        role(name).offered = amounts
    for name, amounts in _reserved(agent.total for agent in agents).items():
        role(name).reserved = amounts
    return [roles[name] for name in sorted(roles)]


def _by_role(bags: Iterable[Resources]) -> Mapping[str, Quantities]:
    found: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for bag in bags:
        for key, amount in bag:
            found[key.allocated or "*"][key.name] += amount / 1000 if isinstance(amount, int) else len(amount)
    return {role: dict(sorted(amounts.items())) for role, amounts in found.items()}


def _reserved(bags: Iterable[Resources]) -> Mapping[str, Quantities]:
    found: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for bag in bags:
        for key, amount in bag:
            if key.reservations:
                count = amount / 1000 if isinstance(amount, int) else len(amount)
                found[key.reservations[-1].role][key.name] += count
    return {role: dict(sorted(amounts.items())) for role, amounts in found.items()}
