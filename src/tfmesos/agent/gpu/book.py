"""Who holds which units: containers, for the shares of their tasks, and the containers nested in them. Pure.

A container that is nested in no other has units of the allocator, each for one of its shares; no unit is in two hands.
A nested one claims units of the next container outward that is in the book, siblings never the same: so the tasks of
an executor that are containers have each their own cards out of those of the executor.

Units that are taken from a container go in two steps: `resize` names them, `settle` frees them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from tfmesos.agent.containerizer.identifiers import ContainerId
from tfmesos.agent.gpu.allocator import Allocator
from tfmesos.agent.gpu.cards import Unit
from tfmesos.agent.gpu.errors import StillClaimed, TooFewGpus
from tfmesos.agent.isolators import OWN

Wants = Mapping[str, int]
"""How many units each share has; one of none may be left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What a container has.

    `leaving`: taken from it, and perhaps still in use. `was_claimed`: by containers nested in it, at some time.
    """

    shares: Mapping[str, frozenset[Unit]] = field(default_factory=dict)
    leaving: frozenset[Unit] = frozenset()
    was_claimed: frozenset[Unit] = frozenset()

    @property
    def units(self) -> frozenset[Unit]:
        """What it may use."""
        return frozenset().union(*self.shares.values())


class Book:
    """Between an agent's containers and its allocator. What raises changes nothing."""

    def __init__(self, allocator: Allocator) -> None:
        self.allocator = allocator
        self._holdings: dict[ContainerId, Holding] = {}

    def __contains__(self, container_id: ContainerId) -> bool:
        return container_id in self._holdings

    def holding(self, container_id: ContainerId) -> Holding:
        """What a container has; nothing, if it is not in the book."""
        return self._holdings.get(container_id, Holding())

    def units_for(self, container_id: ContainerId) -> frozenset[Unit]:
        """What is in reach of a container; one that is not in the book shares what is around it."""
        around = container_id if container_id in self._holdings else self.outer(container_id)
        return frozenset() if around is None else self._holdings[around].units

    def outer(self, container_id: ContainerId) -> ContainerId | None:
        """The next container outward that is in the book."""
        outer = container_id.parent
        while outer is not None and outer not in self._holdings:
            outer = outer.parent
        return outer

    def claimed(self, container_id: ContainerId) -> frozenset[Unit]:
        """What the containers nested in it have."""
        inner = (holding.units for other, holding in self._holdings.items() if self.outer(other) == container_id)
        return frozenset().union(*inner)

    def admit(self, container_id: ContainerId, wants: Wants) -> None:
        """A new container. Raises TooFewGpus."""
        outer = self.outer(container_id)
        if outer is not None:
            self._claim(container_id, outer, sum(wants.values()))
            return
        taken = self.allocator.allocate(sum(wants.values()))
        self._holdings[container_id] = Holding(shares=_dealt({}, wants, taken))

    def restore(self, container_id: ContainerId, holding: Holding) -> None:
        """A container of an agent before; outer ones first. Raises NotAvailable."""
        outer = self.outer(container_id)
        if outer is None:
            self.allocator.allocate_exactly(holding.units | holding.leaving)
            self._holdings[container_id] = holding
        else:
            free = self._holdings[outer].units - self.claimed(outer)
            self._hand_down(container_id, outer, {name: part & free for name, part in holding.shares.items()})

    def resize(self, container_id: ContainerId, wants: Wants) -> None:
        """Shares come and go, grow and shrink: what is new is there at once, what is taken leaves.

        What has not left yet comes back where no others are free: an agent may have ended before it had settled.
        Only of a container that is nested in no other. Raises TooFewGpus, and StillClaimed: try again when a nested
        container is gone.
        """
        holding = self._holdings[container_id]
        rest, gone = _shrunk(holding, wants, self.claimed(container_id))
        more = {name: max(count - len(rest.get(name, ())), 0) for name, count in wants.items()}
        possible, count = len(self.allocator.total) - sum(map(len, rest.values())), sum(more.values())
        if count > possible:
            raise TooFewGpus(count, len(self.allocator.free), possible)
        back = frozenset(sorted(holding.leaving)[: max(count - len(self.allocator.free), 0)])
        taken = self.allocator.allocate(count - len(back)) | back
        self._holdings[container_id] = Holding(
            shares=_dealt(rest, more, taken),
            leaving=(holding.leaving - back) | gone,
            was_claimed=holding.was_claimed - gone,
        )

    def revert(self, container_id: ContainerId, before: Holding) -> None:
        """Take a resize back that nothing has come of; `before` is the holding that was there then."""
        after = self._holdings[container_id]
        self.allocator.deallocate((after.units | after.leaving) - before.units - before.leaving)
        self._holdings[container_id] = before

    def settle(self, container_id: ContainerId) -> None:
        """Nothing in the container uses what was taken from it: that is free."""
        holding = self._holdings[container_id]
        self.allocator.deallocate(holding.leaving)
        self._holdings[container_id] = Holding(shares=holding.shares, was_claimed=holding.was_claimed)

    def dismiss(self, container_id: ContainerId) -> None:
        """Nothing of the container is left, nor of those nested in it: what they held is free. Idempotent."""
        if container_id not in self._holdings:
            return
        for other in [other for other in self._holdings if self.outer(other) == container_id]:
            self.dismiss(other)
        outer, holding = self.outer(container_id), self._holdings.pop(container_id)
        if outer is None:
            self.allocator.deallocate(holding.units | holding.leaving)

    def _claim(self, container_id: ContainerId, outer: ContainerId, count: int) -> None:
        holding, claimed = self._holdings[outer], self.claimed(outer)
        free = holding.units - claimed
        if count > len(free):
            raise TooFewGpus(count, len(free), len(holding.units))
        units = _whole_share(holding, count, claimed) or frozenset(sorted(free)[:count])
        self._hand_down(container_id, outer, {OWN: units} if units else {})

    def _hand_down(self, container_id: ContainerId, outer: ContainerId, shares: Mapping[str, frozenset[Unit]]) -> None:
        inner, holding = Holding(shares=shares), self._holdings[outer]
        self._holdings[container_id] = inner
        self._holdings[outer] = Holding(
            shares=holding.shares, leaving=holding.leaving, was_claimed=holding.was_claimed | inner.units
        )


def _dealt(
    shares: Mapping[str, Collection[Unit]], more: Mapping[str, int], units: Collection[Unit]
) -> dict[str, frozenset[Unit]]:
    """The shares with the units dealt out, the lowest first; without those that have nothing."""
    left = sorted(units, reverse=True)
    dealt: dict[str, frozenset[Unit]] = {}
    for name in dict.fromkeys([*shares, *more]):
        part = frozenset([*shares.get(name, ()), *(left.pop() for _ in range(more.get(name, 0)))])
        if part:
            dealt[name] = part
    return dealt


def _whole_share(holding: Holding, count: int, claimed: frozenset[Unit]) -> frozenset[Unit] | None:
    """The first task's share of just this size that nobody has claimed: a nested container is a task's, mostly."""
    for name in sorted(holding.shares):
        share = holding.shares[name]
        if name != OWN and len(share) == count and not share & claimed:
            return share
    return None


def _shrunk(holding: Holding, wants: Wants, claimed: frozenset[Unit]) -> tuple[dict[str, set[Unit]], frozenset[Unit]]:
    """The shares without what is to go, and that: of each share that becomes smaller the lowest. Raises StillClaimed.

    What a nested container has cannot go. It may have the units of another task's share: then that share gets them for
    those that were its container's own, if that has ended.
    """
    shares = {name: set(units) for name, units in holding.shares.items()}
    gone: set[Unit] = set()
    for name, share in shares.items():
        count = max(len(share) - wants.get(name, 0), 0)
        free = sorted(share - claimed)[:count]
        gone.update(free)
        share.difference_update(free)
        for unit in sorted(share)[: count - len(free)]:
            gone.add(_exchanged(shares, share, unit, holding.was_claimed - claimed - gone - share))
    return shares, frozenset(gone)


def _exchanged(shares: Mapping[str, set[Unit]], share: set[Unit], unit: Unit, unused: Collection[Unit]) -> Unit:
    """Move a unit of one share to another share that has an unused one, and answer that."""
    for other in sorted(unused):
        for owner in shares.values():
            if other in owner:
                share.remove(unit)
                owner.remove(other)
                owner.add(unit)
                return other
    raise StillClaimed(sorted([unit]))
