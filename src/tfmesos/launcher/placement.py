"""Which task goes where. Pure."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from tfmesos.launcher.specification import Job
from tfmesos.resources import Entry, Key, Resources, scalars
from tfmesos.wire import mesos_pb2

AMOUNTS = ("gpus", "cpus", "mem")


@dataclass(frozen=True, slots=True, order=True)
class TaskKey:
    """A task of a job, whichever attempt."""

    job: str
    index: int

    def __str__(self) -> str:
        return f"{self.job}:{self.index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What one task needs; besides, it needs one port."""

    key: TaskKey
    resources: Resources

    def amount(self, name: str) -> int:
        """Thousandths."""
        return self.resources.scalar(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What one agent offers.

    `host` is where its tasks are reached, `hostname` what it is called, `endpoint` where its own server is.
    """

    id: str
    agent_id: str
    host: str
    hostname: str
    endpoint: tuple[str, int]
    resources: Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """One task, its agent, its port, and which of the offered resources it takes."""

    key: TaskKey
    agent_id: str
    host: str
    hostname: str
    endpoint: tuple[str, int]
    port: int
    resources: Resources

    @property
    def cards(self) -> frozenset[str]:
        """The names of its GPUs, where the master gives them names (Mesos before 1.0)."""
        return _named_cards(self.resources)


def build_wishes(jobs: Sequence[Job], without: Collection[TaskKey] = ()) -> tuple[Wish, ...]:
    """What the tasks of a job need, in order of role and index."""
    return tuple(
        Wish(key=key, resources=scalars(cpus=job.cpus, mem=job.mem, gpus=job.gpus))
        for job in jobs
        for key in (TaskKey(job.name, index) for index in job.indices)
        if key not in without
    )


def place(
    wishes: Sequence[Wish],
    offers: Collection[Offer],
    role: str,
    random: Random,
    avoid: Mapping[str, Collection[int]] | None = None,
) -> tuple[Placed, ...] | None:
    """Place all tasks, or None: never a part. The result is in the order of the wishes.

    The hardest tasks are placed first, GPU tasks where most cards are free, others where fewest cards are. Ports are
    chosen at random from what the agent offers, those in `avoid` (by agent) only when no other is left.
    """
    for fit in (_spread, _tight):
        agents = [_Agent(group, role) for group in _by_agent(offers)]
        placed = _place_all(sorted(wishes, key=_hardness, reverse=True), agents, fit, random, avoid or {})
        if placed is not None:
            return tuple(placed[wish.key] for wish in wishes)
    return None


class _Agent:
    """What is left of an agent's offers."""

    def __init__(self, offers: Sequence[Offer], role: str) -> None:
        self.offer = offers[0]
        self.role = role
        self.left = Resources()
        for offer in offers:
            self.left = self.left + offer.resources
        plain = self.left.nonrevocable().allocatable_to(role)
        self.free = {name: plain.scalar(name) for name in AMOUNTS}
        self.cards = _named_cards(plain)
        self.free["gpus"] += 1000 * len(self.cards)
        self.ports = set(plain.ranges("ports"))

    def may_hold(self, wish: Wish) -> bool:
        return bool(self.ports) and all(wish.amount(name) <= self.free[name] for name in AMOUNTS)

    def take(self, wish: Wish, random: Random, avoid: Collection[int]) -> Placed | None:
        choice = sorted(self.ports.difference(avoid)) or sorted(self.ports)
        port = random.choice(choice)
        cards = frozenset(sorted(self.cards)[: wish.amount("gpus") // 1000])
        wanted = _by_name(wish.resources, cards) + Resources.parse(f"ports:[{port}-{port}]")
        found = self.left.find(wanted, self.role)
        if found is None:
            return None
        self.left = self.left - found
        self.ports.discard(port)
        self.cards -= cards
        for name in AMOUNTS:
            self.free[name] -= wish.amount(name)
        offer = self.offer
        return Placed(
            key=wish.key,
            agent_id=offer.agent_id,
            host=offer.host,
            hostname=offer.hostname,
            endpoint=offer.endpoint,
            port=port,
            resources=found,
        )


def _named_cards(resources: Resources) -> frozenset[str]:
    named = [amount for key, amount in resources if key.name == "gpus" and isinstance(amount, frozenset)]
    return frozenset().union(*named)


def _by_name(resources: Resources, cards: frozenset[str]) -> Resources:
    """The same with these GPUs instead of a number of them, for masters that give GPUs names (Mesos before 1.0)."""
    if not cards:
        return resources
    others = [entry for entry in resources if entry.key.name != "gpus"]
    return Resources([*others, Entry(Key("gpus", mesos_pb2.Value.SET), cards)])


def _by_agent(offers: Collection[Offer]) -> list[list[Offer]]:
    groups: dict[str, list[Offer]] = {}
    for offer in offers:
        groups.setdefault(offer.agent_id, []).append(offer)
    return list(groups.values())


def _place_all(
    wishes: Sequence[Wish],
    agents: Sequence[_Agent],
    fit: Callable[[_Agent, Wish], tuple[int, ...]],
    random: Random,
    avoid: Mapping[str, Collection[int]],
) -> dict[TaskKey, Placed] | None:
    placed: dict[TaskKey, Placed] = {}
    for wish in wishes:
        candidates = sorted((agent for agent in agents if agent.may_hold(wish)), key=lambda agent: fit(agent, wish))
        for agent in candidates:
            found = agent.take(wish, random, avoid.get(agent.offer.agent_id, ()))
            if found is not None:
                placed[wish.key] = found
                break
        else:
            return None
    return placed


def _hardness(wish: Wish) -> tuple[int, ...]:
    return tuple(wish.amount(name) for name in AMOUNTS)


def _spread(agent: _Agent, wish: Wish) -> tuple[int, ...]:
    """Fairly: cards are used evenly, and agents with cards are spared by those who need none."""
    gpus = -agent.free["gpus"] if wish.amount("gpus") else agent.free["gpus"]
    return (gpus, -agent.free["cpus"], -agent.free["mem"])


def _tight(agent: _Agent, wish: Wish) -> tuple[int, ...]:
    """Where least is left over: finds places for gangs that spreading does not."""
    return (agent.free["gpus"], agent.free["cpus"], agent.free["mem"])
