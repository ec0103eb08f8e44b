"""Two jobs that each want most of a cluster, against a small allocator with Mesos' rules."""

from random import Random

from tests.launcher.builders import only, status
from tfmesos.launcher import Job
from tfmesos.launcher.events import (
    Action,
    Decline,
    Kill,
    Launch,
    OffersArrived,
    Revive,
    StatusArrived,
    Subscribed,
    TimePassed,
)
from tfmesos.launcher.gang import Gang
from tfmesos.launcher.gang_options import GangOptions
from tfmesos.launcher.phases import Phase
from tfmesos.launcher.placement import Offer
from tfmesos.resources import Resources

JOB_S = 20.0


class Cluster:
    """Agents whose whole rest is offered to one framework at a time, with filters, once a second."""

    def __init__(self, agents: dict[str, str], seed: int) -> None:
        self.free = {name: Resources.parse(text) for name, text in agents.items()}
        self.random = Random(seed)
        self.gangs: list[Gang] = []
        self.offered: dict[str, tuple[int, str, Resources]] = {}
        self.filters: dict[tuple[int, str], float] = {}
        self.ends: list[tuple[float, int, str, str, Resources]] = []
        self.longest_hold = 0.0
        self.held_since: dict[str, float] = {}
        self.number = 0

    def join(self, jobs: tuple[Job, ...]) -> Gang:
        gang = Gang(GangOptions(jobs=jobs), Random(self.random.random()), 0.0)
        self.gangs.append(gang)
        self.do(len(self.gangs) - 1, gang.handle(Subscribed(), 0.0), 0.0)
        return gang

    def allocate(self, now: float) -> None:
        for agent in self.random.sample(sorted(self.free), len(self.free)):
            for who in self.random.sample(range(len(self.gangs)), len(self.gangs)):
                if not self.free[agent] or self.filters.get((who, agent), 0) > now:
                    continue
                self.number += 1
                offer_id = str(self.number)
                resources, self.free[agent] = self.free[agent], Resources()
                self.offered[offer_id] = (who, agent, resources)
                self.held_since[offer_id] = now
                offer = Offer(
                    id=offer_id, agent_id=agent, host="h", hostname=agent, endpoint=("h", 1), resources=resources
                )
                self.do(who, self.gangs[who].handle(OffersArrived((offer,)), now), now)

    def do(self, who: int, actions: list[Action], now: float) -> None:
        for decline in only(actions, Decline):
            for offer_id in decline.offer_ids:
                self.take_back(offer_id, decline.refuse_s, now)
        for launch in only(actions, Launch):
            self.launch(who, launch, now)
        if only(actions, Revive):
            self.filters = {key: at for key, at in self.filters.items() if key[0] != who}
        assert not only(actions, Kill)

    def take_back(self, offer_id: str, refuse_s: float, now: float) -> Resources:
        who, agent, resources = self.offered.pop(offer_id)
        self.longest_hold = max(self.longest_hold, now - self.held_since[offer_id])
        self.free[agent] = self.free[agent] + resources
        self.filters[who, agent] = now + refuse_s
        return resources

    def launch(self, who: int, launch: Launch, now: float) -> None:
        for offer_id in launch.offer_ids:
            self.take_back(offer_id, launch.refuse_s, now)
        for task in launch.tasks:
            self.free[launch.agent_id] = self.free[launch.agent_id] - task.placed.resources
            self.ends.append((now + JOB_S, who, task.task_id, launch.agent_id, task.placed.resources))

    def step(self, now: float) -> None:
        for who, gang in enumerate(self.gangs):
            if gang.wakes_at is not None and gang.wakes_at <= now:
                self.do(who, gang.handle(TimePassed(), now), now)
        for end in [end for end in self.ends if end[0] <= now]:
            self.ends.remove(end)
            _, who, task_id, agent, resources = end
            self.free[agent] = self.free[agent] + resources
            self.do(who, self.gangs[who].handle(StatusArrived(status(task_id, "FINISHED")), now), now)
        self.allocate(now)


def test_two_half_gangs_do_not_wait_for_each_other_for_good() -> None:
    for seed in range(12):
        agents = dict.fromkeys(("a", "b"), "cpus:4;mem:9000;ports:[1-99]")
        cluster = Cluster(agents, seed)
        jobs = (Job("worker", 6, cpus=1, mem=1, cmd="work"),)
        gangs = [cluster.join(jobs), cluster.join(jobs)]
        now = 0.0
        while now < 600 and any(gang.phase is not Phase.OVER for gang in gangs):
            now += 1
            cluster.step(now)

        assert [gang.phase for gang in gangs] == [Phase.OVER, Phase.OVER], seed
        assert cluster.longest_hold <= 30
