"""Offers in hand: kept while the gang is incomplete, given back after a bounded time. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from tfmesos.launcher.placement import Offer

HOLD_S = (8.0, 24.0)
"""How long an incomplete set is held, chosen at random: two half gangs must not wait for each other for good."""

PAUSE_S = (2.0, 12.0)
"""How long what was given back is not wanted, chosen at random: time for the other to take it."""


@dataclass(frozen=True, slots=True)
class GivenBack:
    """What to decline, and for how long."""

    offer_ids: tuple[str, ...]
    refuse_s: float


class OfferBook:
    """Every offer taken in leaves exactly once: taken, given back, or dropped because it is void."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._held: dict[str, Offer] = {}
        self.expires_at: float | None = None
        self.offered_agents: set[str] = set()

    @property
    def held(self) -> tuple[Offer, ...]:
        """What can be used now."""
        return tuple(self._held.values())

    def add(self, offers: Iterable[Offer], now: float) -> None:
        """Take offers in; the first of a set starts the clock."""
        for offer in offers:
            self._held[offer.id] = offer
            self.offered_agents.add(offer.agent_id)
        if self._held and self.expires_at is None:
            self.expires_at = now + self._random.uniform(*HOLD_S)

    def drop(self, offer_id: str) -> None:
        """The master took it back."""
        self._held.pop(offer_id, None)
        if not self._held:
            self.expires_at = None

    def clear(self) -> None:
        """All are void: the subscription was lost."""
        self._held.clear()
        self.expires_at = None

    def take(self, agent_id: str) -> tuple[str, ...]:
        """Use all offers of an agent; returns their ids."""
        ids = tuple(offer.id for offer in self._held.values() if offer.agent_id == agent_id)
        for offer_id in ids:
            self.drop(offer_id)
        return ids

    def give_back(self, refuse_s: float | None = None) -> GivenBack | None:
        """Let go of all that is held; None if nothing is."""
        ids = tuple(self._held)
        self.clear()
        if not ids:
            return None
        return GivenBack(ids, self._random.uniform(*PAUSE_S) if refuse_s is None else refuse_s)
