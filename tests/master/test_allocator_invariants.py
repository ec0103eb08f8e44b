"""Random orders of what an allocator is told; after each allocation nothing is given twice and nothing lies idle."""

from __future__ import annotations

from random import Random

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run

from tfmesos.master import allocator as alloc
from tfmesos.master.ids import AgentId, FrameworkId
from tfmesos.resources import Resources
from tfmesos.wire import scheduler_pb2

FRAMEWORKS = [FrameworkId(name) for name in "fgh"]
AGENTS = [AgentId(name) for name in "abc"]
TOTALS = [Resources.parse(text) for text in ("cpus:4;mem:4000", "cpus:1;mem:10;gpus:1", "cpus(x):2;cpus:2", "mem:64")]
PARTS = [Resources.parse(text) for text in ("cpus:1", "mem:10", "cpus:1;mem:10")]


def wanting_attribute(name: str) -> scheduler_pb2.OfferConstraints.RoleConstraints:
    constraints = scheduler_pb2.OfferConstraints.RoleConstraints()
    constraint = constraints.groups.add().attribute_constraints.add()
    constraint.selector.attribute_name = name
    constraint.predicate.exists.SetInParent()
    return constraints


class AllocatorMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.allocator = alloc.HierarchicalAllocator(alloc.AllocatorOptions(), Random(0))
        self.now = 0.0
        self.frameworks: dict[FrameworkId, alloc.FrameworkSet] = {}
        self.is_active: dict[FrameworkId, bool] = {}
        self.agents: dict[AgentId, alloc.AgentAdded] = {}
        self.out_of_service: set[AgentId] = set()
        self.given: dict[tuple[FrameworkId, str, AgentId], Resources] = {}
        self.refused: list[tuple[FrameworkId, str, AgentId, Resources, float]] = []

    def tell(self, event: alloc.AllocatorEvent) -> None:
        self.allocator.handle(event, self.now)

    @initialize()
    def begin(self) -> None:
        for framework_id in FRAMEWORKS[:2]:
            self.set_framework(framework_id, frozenset("x"), is_aware=True, is_choosy=False)
        self.add_agent(AGENTS[0], TOTALS[0], has_disk=True)

    # --- frameworks ---

    @rule(
        framework_id=st.sampled_from(FRAMEWORKS),
        roles=st.sampled_from([frozenset("x"), frozenset("y"), frozenset({"x", "x/z"})]),
        is_aware=st.booleans(),
        is_choosy=st.booleans(),
    )
    def set_framework(self, framework_id: FrameworkId, roles: frozenset[str], is_aware: bool, is_choosy: bool) -> None:
        constraints = {role: wanting_attribute("ssd") for role in roles} if is_choosy else {}
        traits = alloc.FrameworkTraits(gpu_aware=is_aware, constraints=constraints)
        event = alloc.FrameworkSet(framework_id=framework_id, roles=roles, suppressed=frozenset(), traits=traits)
        self.frameworks[framework_id] = event
        self.is_active.setdefault(framework_id, True)
        self.tell(event)

    def connect(self, framework_id: FrameworkId, is_active: bool) -> None:
        if framework_id in self.frameworks:
            self.is_active[framework_id] = is_active
            if not is_active:
                self.refused = [one for one in self.refused if one[0] != framework_id]
            self.tell(alloc.FrameworkSetActive(framework_id=framework_id, is_active=is_active))

    @rule(framework_id=st.sampled_from(FRAMEWORKS), how=st.sampled_from(["back", "away", "back", "gone"]))
    def come_and_go(self, framework_id: FrameworkId, how: str) -> None:
        if how == "gone":
            self.remove_framework(framework_id)
        else:
            self.connect(framework_id, how == "back")

    def remove_framework(self, framework_id: FrameworkId) -> None:
        for key in [key for key in self.given if key[0] == framework_id]:
            self.recover(key, self.given[key], 0.0)
        self.frameworks.pop(framework_id, None)
        self.is_active.pop(framework_id, None)
        self.refused = [one for one in self.refused if one[0] != framework_id]
        self.tell(alloc.FrameworkRemoved(framework_id=framework_id))

    @rule(framework_id=st.sampled_from(FRAMEWORKS))
    def revive(self, framework_id: FrameworkId) -> None:
        if framework_id in self.frameworks:
            roles = self.frameworks[framework_id].roles
            self.refused = [one for one in self.refused if one[0] != framework_id or one[1] not in roles]
            self.tell(alloc.OffersRevived(framework_id=framework_id, roles=roles))
            self.allocate(0.0)

    # --- agents ---

    @rule(agent_id=st.sampled_from(AGENTS), total=st.sampled_from(TOTALS), has_disk=st.booleans())
    def add_agent(self, agent_id: AgentId, total: Resources, has_disk: bool) -> None:
        self.forget_agent(agent_id)
        traits = alloc.AgentTraits(attributes={"ssd": "yes"} if has_disk else {})
        self.agents[agent_id] = alloc.AgentAdded(agent_id=agent_id, total=total, traits=traits)
        self.tell(self.agents[agent_id])

    @rule(agent_id=st.sampled_from(AGENTS), how=st.sampled_from(["back", "away", "back", "gone"]))
    def lose_agent(self, agent_id: AgentId, how: str) -> None:
        if how == "gone":
            self.remove_agent(agent_id)
        else:
            self.deactivate(agent_id, how == "back")

    def remove_agent(self, agent_id: AgentId) -> None:
        self.forget_agent(agent_id)
        self.tell(alloc.AgentRemoved(agent_id=agent_id))

    def deactivate(self, agent_id: AgentId, is_active: bool) -> None:
        if agent_id in self.agents:
            (self.out_of_service.discard if is_active else self.out_of_service.add)(agent_id)
            self.tell(alloc.AgentSetActive(agent_id=agent_id, is_active=is_active))

    @rule(agent_id=st.sampled_from(AGENTS), has_disk=st.booleans())
    def change_agent(self, agent_id: AgentId, has_disk: bool) -> None:
        if agent_id in self.agents:
            traits = alloc.AgentTraits(attributes={"ssd": "yes"} if has_disk else {})
            total = self.agents[agent_id].total
            self.agents[agent_id] = alloc.AgentAdded(agent_id=agent_id, total=total, traits=traits)
            self.refused = [one for one in self.refused if one[2] != agent_id]
            self.tell(alloc.AgentChanged(agent_id=agent_id, traits=traits))
            self.allocate(0.0)

    # --- resources ---

    @precondition(lambda self: self.given)
    @rule(data=st.data(), part=st.sampled_from([None, *PARTS]), refuse_s=st.sampled_from([50.0, 5.0, 0.0]))
    def give_back(self, data: st.DataObject, part: Resources | None, refuse_s: float) -> None:
        key = data.draw(st.sampled_from(list(self.given)))
        wanted = part.allocated(key[1]) if part is not None else self.given[key]
        if self.given[key].contains(wanted):
            self.recover(key, wanted, refuse_s)

    @rule()
    def refuse_everything(self) -> None:
        while self.given:
            for key, resources in list(self.given.items()):
                self.recover(key, resources, 50.0)
            self.allocate(0.0)

    @rule(seconds=st.sampled_from([1.0, 4.0, 60.0]))
    def allocate(self, seconds: float) -> None:
        self.now += seconds
        for one in self.allocator.allocate(self.now):
            assert self.may_have(one.framework_id, one.role, one.agent_id, one.resources.unallocated())
            key = (one.framework_id, one.role, one.agent_id)
            self.given[key] = self.given.get(key, Resources()) + one.resources
        for agent_id in self.agents:
            assert not self.idle_wishes(agent_id)

    # --- what must hold ---

    @invariant()
    def nothing_is_given_twice(self) -> None:
        for agent_id, agent in self.agents.items():
            assert agent.total.contains(self.used(agent_id))

    @invariant()
    def the_allocator_counts_as_we_do(self) -> None:
        for agent_id in self.agents:
            counted = sum(self.allocator.given(agent_id).values(), Resources())
            assert counted.unallocated() == self.used(agent_id)

    # --- the model ---

    def used(self, agent_id: AgentId) -> Resources:
        return sum((one for key, one in self.given.items() if key[2] == agent_id), Resources()).unallocated()

    def idle_wishes(self, agent_id: AgentId) -> list[tuple[FrameworkId, str]]:
        """Who could have what is left of the agent, and was not given it."""
        free = self.agents[agent_id].total - self.used(agent_id)
        wishes = [(one.framework_id, role) for one in self.frameworks.values() for role in one.roles]
        return [
            (framework_id, role)
            for framework_id, role in wishes
            if (candidate := free.allocatable_to(role)) and self.may_have(framework_id, role, agent_id, candidate)
        ]

    def may_have(self, framework_id: FrameworkId, role: str, agent_id: AgentId, resources: Resources) -> bool:
        framework, agent = self.frameworks[framework_id], self.agents[agent_id]
        if not self.is_active[framework_id] or agent_id in self.out_of_service or role not in framework.roles:
            return False
        if agent.total.scalar("gpus") and not framework.traits.gpu_aware:
            return False
        if role in framework.traits.constraints and "ssd" not in agent.traits.attributes:
            return False
        return not any(
            one[:3] == (framework_id, role, agent_id) and one[3].contains(resources) and one[4] > self.now
            for one in self.refused
        )

    def recover(self, key: tuple[FrameworkId, str, AgentId], resources: Resources, refuse_s: float) -> None:
        framework_id, role, agent_id = key
        rest = self.given.pop(key) - resources
        if rest:
            self.given[key] = rest
        if refuse_s:
            self.refused.append((framework_id, role, agent_id, resources.unallocated(), self.now + refuse_s))
        self.tell(
            alloc.ResourcesRecovered(
                framework_id=framework_id, agent_id=agent_id, role=role, resources=resources, refuse_s=refuse_s
            )
        )

    def forget_agent(self, agent_id: AgentId) -> None:
        self.agents.pop(agent_id, None)
        self.out_of_service.discard(agent_id)
        self.given = {key: one for key, one in self.given.items() if key[2] != agent_id}
        self.refused = [one for one in self.refused if one[2] != agent_id]


def test_nothing_is_given_twice_and_nothing_lies_idle() -> None:
    checks = list(HealthCheck)
    options = settings(
        max_examples=100, stateful_step_count=40, deadline=None, suppress_health_check=checks, derandomize=True
    )
    run(AllocatorMachine, settings=options)
