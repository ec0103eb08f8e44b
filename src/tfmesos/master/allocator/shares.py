"""Dominant shares: how much of the cluster each client holds, by the resource it holds most of (DRF, Ghodsi 2011)."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from tfmesos.resources import Resources

Client = TypeVar("Client", bound=Hashable)


def quantities(resources: Resources) -> dict[str, int]:
    """The scalar amounts by name in thousandths, without zeros."""
    amounts = ((name, resources.scalar(name)) for name in resources.names())
    return {name: amount for name, amount in amounts if amount}


def quantities_by_role(resources: Resources) -> dict[str, dict[str, int]]:
    """The scalar amounts by the role they are allocated to, then by name."""
    roles: dict[str, dict[str, int]] = {}
    for key, amount in resources:
        if isinstance(amount, int):
            amounts = roles.setdefault(key.allocated or "*", {})
            amounts[key.name] = amounts.get(key.name, 0) + amount
    return roles


class Shares(Generic[Client]):
    """What each client holds of one common total; costs are per resource name, never per task."""

    def __init__(self, excluded: Iterable[str] = ()) -> None:
        self._excluded = frozenset(excluded)
        self._total: Counter[str] = Counter()
        self._held: defaultdict[Client, Counter[str]] = defaultdict(Counter)
        self._gifts: Counter[Client] = Counter()

    def grow(self, amounts: dict[str, int]) -> None:
        """Add to the total."""
        self._total.update(amounts)

    def shrink(self, amounts: dict[str, int]) -> None:
        """Take from the total."""
        self._total.subtract(amounts)

    def add(self, client: Client, amounts: dict[str, int]) -> None:
        """The client holds this more."""
        self._held[client].update(amounts)
        self._gifts[client] += 1

    def remove(self, client: Client, amounts: dict[str, int]) -> None:
        """The client holds this less."""
        held = self._held[client]
        held.subtract(amounts)
        if not any(held.values()):
            self.forget(client)

    def forget(self, client: Client) -> None:
        """Drop a client that holds nothing."""
        self._held.pop(client, None)
        self._gifts.pop(client, None)

    def order(self, client: Client, weight: float = 1.0) -> tuple[float, int]:
        """A key for sorting: the weighted dominant share, then how often it got something."""
        return self.share(client) / weight, self._gifts.get(client, 0)

    def share(self, client: Client) -> float:
        """The dominant share, from 0 to 1."""
        if client not in self._held:
            return 0.0
        held = self._held[client]
        shares = (
            amount / self._total[name]
            for name, amount in held.items()
            if name not in self._excluded and self._total[name] > 0
        )
        return max(shares, default=0.0)
