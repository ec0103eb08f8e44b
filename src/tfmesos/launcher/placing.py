"""A gang that waits for its place: offers in, launches out. Pure."""

from collections.abc import Sequence
from random import Random

from tfmesos.launcher.addresses import ClusterAddresses, TaskAddress
from tfmesos.launcher.events import Action, Decline, Launch, NewTask, Suppress
from tfmesos.launcher.offerbook import OfferBook
from tfmesos.launcher.placement import Offer, Placed, Wish, place
from tfmesos.launcher.survey import Shortage, Survey, explain

LONG_REFUSAL_S = 3600.0
"""How long offers are refused that are not needed; a REVIVE ends it."""


class Placing:
    """The offers of one gang and what it needs of them."""

    def __init__(self, wishes: Sequence[Wish], role: str, random: Random) -> None:
        self._wishes = wishes
        self._role = role
        self._random = random
        self._offers = OfferBook(random)
        self._used_ports: dict[str, set[int]] = {}

    @property
    def is_trivial(self) -> bool:
        """Nothing needs a place."""
        return not self._wishes

    @property
    def expires_at(self) -> float | None:
        """When `give_back` is due."""
        return self._offers.expires_at

    def forget_offers(self) -> None:
        """They are void, or the master is gone."""
        self._offers.clear()

    def rescinded(self, offer_id: str) -> None:
        """The master took one back."""
        self._offers.drop(offer_id)

    def try_offers(self, offers: Sequence[Offer], now: float) -> tuple[Placed, ...] | None:
        """Add offers to those in hand; a place for all tasks, or None."""
        self._offers.add(offers, now)
        return place(self._wishes, self._offers.held, self._role, self._random, self._used_ports)

    def launches(self, tasks: Sequence[NewTask], everyone: ClusterAddresses) -> list[Action]:
        """One ACCEPT for each agent; what is left is given back and no more is wanted."""
        by_agent: dict[str, list[NewTask]] = {}
        for task in tasks:
            by_agent.setdefault(task.placed.agent_id, []).append(task)
            self._used_ports.setdefault(task.placed.agent_id, set()).add(task.placed.port)
        launches = [
            Launch(
                agent_id=agent_id,
                offer_ids=self._offers.take(agent_id),
                tasks=tuple(group),
                everyone=everyone,
                refuse_s=LONG_REFUSAL_S,
            )
            for agent_id, group in by_agent.items()
        ]
        return [*launches, *self.want_nothing()]

    def want_nothing(self) -> list[Action]:
        """No more offers; those in hand go back."""
        back = self._offers.give_back(LONG_REFUSAL_S)
        return [Suppress(), *([Decline(back.offer_ids, back.refuse_s)] if back else [])]

    def give_back(self, now: float) -> list[Action]:
        """Let go of an incomplete set whose time is over."""
        if self.expires_at is None or self.expires_at > now:
            return []
        back = self._offers.give_back()
        return [Decline(back.offer_ids, back.refuse_s)] if back else []

    def explain(self, survey: Survey | None) -> Shortage:
        """Why it waits; without a survey only what it waits for."""
        if survey is None:
            text = f"no offer holds all {len(self._wishes)} tasks, and the master does not tell of its agents"
            return Shortage(text=text, is_final=False)
        return explain(self._wishes, survey)


def refuse(offers: Sequence[Offer]) -> Decline:
    """Offers that nobody waits for."""
    return Decline(tuple(offer.id for offer in offers), LONG_REFUSAL_S)


def new_task(placed: Placed, attempt: int) -> NewTask:
    """A task with an id that no other attempt has: Mesos takes an id for another task only once the first is gone."""
    key = placed.key
    return NewTask(
        task_id=f"{key.job}-{key.index}.{attempt}",
        placed=placed,
        address=TaskAddress(job=key.job, index=key.index, host=placed.host, port=placed.port),
    )
