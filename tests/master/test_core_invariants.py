"""Random orders of everything that can happen to a master; after each step the books must add up."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.master.builders import (
    Operation,
    executor_info,
    group_of,
    launch_of,
    running_again,
    shown,
    with_executor,
)
from tests.master.drivers import Driver
from tests.master.world import Agent, Framework, World, flags, framework_info, task
from tfmesos.master.core import books
from tfmesos.master.core.books import Offer
from tfmesos.master.core.events import (
    AgentDeactivated,
    AgentDrained,
    AgentMarkedGone,
    AgentReactivated,
    OperatorEvent,
    PeerSaid,
)
from tfmesos.master.core.ledger import Ledger
from tfmesos.master.core.lifecycle import IllegalStep
from tfmesos.master.ids import AgentId, FrameworkId, OfferId
from tfmesos.resources import Resources
from tfmesos.wire import internal_pb2, mesos_pb2
from tfmesos.wire.text import TERMINAL_STATES

STATES = [mesos_pb2.TASK_STARTING, mesos_pb2.TASK_RUNNING, mesos_pb2.TASK_FINISHED, mesos_pb2.TASK_FAILED]
SIZES = ["cpus:1;mem:64", "cpus:0.01;mem:32", "cpus:3;mem:1000;ports:[31000-31004]", "cpus:9", "ports:[31001-31001]"]
AGENTS = ["cpus:4;mem:4096;disk:100;ports:[31000-31009]", "cpus:2;mem:500;disk:10", "cpus(a):2;mem:64"]

BOUNDED = flags(
    max_completed_tasks_per_framework=3, max_completed_frameworks=2, offer_timeout=30.0, allocation_interval=5.0
)


def added(bags: Iterable[Resources]) -> Resources:
    return sum(bags, Resources())


class MasterMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = World(BOUNDED)
        self.frameworks: list[Framework] = []
        self.drivers: list[Driver] = []
        self.agents: list[Agent] = []
        self.tasks = 0
        self.infos: dict[str, mesos_pb2.FrameworkInfo] = {}
        self.brought: dict[str, list[mesos_pb2.Task]] = {}
        """What agents had when the last master ended."""

    # --- frameworks ---

    @rule(timeout=st.sampled_from([0.0, 20.0]), checkpoint=st.booleans(), role=st.sampled_from(["*", "a", "a/b"]))
    def subscribe(self, timeout: float, checkpoint: bool, role: str) -> None:
        if len(self.live()) < 3:
            info = framework_info(failover_timeout=timeout, checkpoint=checkpoint, role=role)
            self.frameworks.append(self.world.subscribe(info))

    @precondition(lambda self: self.known())
    @rule(data=st.data())
    def subscribe_again(self, data: st.DataObject) -> None:
        framework_id = data.draw(st.sampled_from(self.known()))
        info = self.world.core.books.frameworks[framework_id].info
        self.frameworks.append(self.world.subscribe(info))

    @precondition(lambda self: self.live())
    @rule(data=st.data(), is_for_good=st.booleans())
    def lose_framework(self, data: st.DataObject, is_for_good: bool) -> None:
        framework = data.draw(st.sampled_from(self.live()))
        if is_for_good:
            framework.call("TEARDOWN")
        else:
            framework.break_stream()

    @precondition(lambda self: self.live())
    @rule(data=st.data(), kind=st.sampled_from(["SUPPRESS", "REVIVE", "RECONCILE"]))
    def ask(self, data: st.DataObject, kind: str) -> None:
        data.draw(st.sampled_from(self.live())).call(kind)

    @rule(data=st.data(), sizes=st.lists(st.sampled_from(SIZES), min_size=1, max_size=3))
    def launch(self, data: st.DataObject, sizes: list[str]) -> None:
        offer = self.draw_offer(data)
        if offer is None:
            return
        self.tasks += len(sizes)
        tasks = [task(f"t{self.tasks - number}", shown(offer), size) for number, size in enumerate(sizes)]
        self.accept([offer], launch_of(tasks))

    @rule(data=st.data(), executor=st.sampled_from("ef"), is_group=st.booleans(), count=st.integers(0, 2))
    def launch_with_executor(self, data: st.DataObject, executor: str, is_group: bool, count: int) -> None:
        offer = self.draw_offer(data)
        if offer is None:
            return
        self.tasks += count
        tasks = [task(f"t{self.tasks - number}", shown(offer)) for number in range(count)]
        info = executor_info(executor, offer.framework_id, is_default=is_group)
        self.accept([offer], group_of(tasks, info) if is_group else launch_of(with_executor(tasks, info)))

    @precondition(lambda self: self.world.core.books.offers)
    @rule(data=st.data(), refuse=st.sampled_from([0.0, 3.0]))
    def answer_with_nothing(self, data: st.DataObject, refuse: float) -> None:
        offers = list(self.world.core.books.offers.values())
        self.accept(data.draw(st.lists(st.sampled_from(offers), min_size=1, max_size=2)), None, refuse)

    @precondition(lambda self: self.live())
    @rule(data=st.data())
    def kill(self, data: st.DataObject) -> None:
        framework = data.draw(st.sampled_from(self.live()))
        task_id = data.draw(st.sampled_from(["unknown", *self.world.core.books.frameworks[framework.id].tasks]))
        framework.call("KILL", task_id=mesos_pb2.TaskID(value=task_id))

    @precondition(lambda self: self.live())
    @rule(data=st.data())
    def acknowledge(self, data: st.DataObject) -> None:
        framework = data.draw(st.sampled_from(self.live()))
        for status in framework.take_statuses():
            if status.uuid:
                framework.acknowledge(status)

    # --- drivers ---

    @rule(port=st.sampled_from([7001, 7002]), is_forced=st.booleans(), is_heir=st.booleans())
    def subscribe_driver(self, port: int, is_forced: bool, is_heir: bool) -> None:
        known = [one.id for one in self.drivers if one.id]
        if len(self.known()) < 4:
            driver = Driver(self.world, port, known[-1] if is_heir and known else None)
            self.drivers.append(driver.subscribe(is_forced=is_forced))

    @precondition(lambda self: self.drivers)
    @rule(data=st.data(), is_abort=st.booleans())
    def lose_driver(self, data: st.DataObject, is_abort: bool) -> None:
        driver = data.draw(st.sampled_from(self.drivers))
        if is_abort:
            message = internal_pb2.DeactivateFrameworkMessage(framework_id=mesos_pb2.FrameworkID(value=driver.id))
            self.world.do(PeerSaid(driver.pid, message))
        else:
            driver.break_link()

    # --- operators, and the end of the master ---

    @precondition(lambda self: self.agents)
    @rule(data=st.data(), wish=st.sampled_from(["drain", "reactivate", "deactivate", "drain to be gone", "gone"]))
    def operate(self, data: st.DataObject, wish: str) -> None:
        agent_id = AgentId(data.draw(st.sampled_from(self.agents)).id)
        events: dict[str, OperatorEvent] = {
            "gone": AgentMarkedGone(agent_id),
            "drain": AgentDrained(agent_id, 1.0, mark_gone=False),
            "drain to be gone": AgentDrained(agent_id, None, mark_gone=True),
            "deactivate": AgentDeactivated(agent_id),
            "reactivate": AgentReactivated(agent_id),
        }
        assert self.world.ask(events[wish]) in (200, 400, 404)

    @rule()
    def restart(self) -> None:
        for framework in self.all_frameworks():
            self.infos[framework.id] = framework.info
        for agent in self.agents:
            self.brought[agent.id] = [running_again(one) for one in self.tasks_once_on(agent)]
        self.world = self.world.restarted()
        self.frameworks = []
        for agent in self.agents:
            agent.world = self.world
        for driver in self.drivers:
            driver.world = self.world

    # --- agents ---

    @initialize()
    def begin(self) -> None:
        self.frameworks.append(self.world.subscribe(framework_info(failover_timeout=20.0, checkpoint=True)))
        self.agents.append(self.world.register(AGENTS[0]))

    @rule(
        resources=st.sampled_from(
            ["cpus:4;mem:4096;disk:100;ports:[31000-31009]", "cpus:2;mem:500;disk:10", "cpus(a):2;mem:64"]
        )
    )
    def register(self, resources: str) -> None:
        if len(self.agents) < 3:
            self.agents.append(self.world.register(resources, port=5051 + len(self.agents)))

    @precondition(lambda self: self.agents)
    @rule(data=st.data(), how=st.sampled_from(["link", "link", "unregister", "register"]))
    def lose_agent(self, data: st.DataObject, how: str) -> None:
        agent = data.draw(st.sampled_from(self.agents))
        if how == "link":
            agent.break_link()
        elif how == "unregister":
            agent.say(internal_pb2.UnregisterSlaveMessage(slave_id=mesos_pb2.AgentID(value=agent.id)))
        else:
            agent.id = ""
            agent.register()

    @precondition(lambda self: self.agents)
    @rule(data=st.data(), keeps=st.booleans())
    def reregister(self, data: st.DataObject, keeps: bool) -> None:
        agent = data.draw(st.sampled_from(self.agents))
        if not agent.id:
            return
        known = {one.task_id.value: one for one in self.brought.get(agent.id, [])}
        known |= {one.id: running_again(one) for one in self.tasks_once_on(agent)}
        tasks = list(known.values()) if keeps else []
        infos = self.infos | {framework.id: framework.info for framework in self.all_frameworks()}
        wanted = {one.framework_id.value for one in tasks}
        executors = [
            executor_info(one.executor_id.value, one.framework_id.value, is_default=True)
            for one in tasks
            if one.executor_id.value
        ]
        agent.reregister(tasks, [infos[one] for one in infos if one in wanted], executors[:1])

    @precondition(lambda self: self.agents)
    @rule(data=st.data(), state=st.sampled_from(STATES), is_late=st.booleans())
    def update(self, data: st.DataObject, state: int, is_late: bool) -> None:
        agent = data.draw(st.sampled_from(self.agents))
        known = self.world.core.books.agents_by_pid.get(agent.pid)
        tasks = list(known.all_tasks()) if known else []
        if tasks:
            chosen = data.draw(st.sampled_from(tasks))
            agent.update(chosen.id, chosen.framework_id, state, mesos_pb2.TASK_FINISHED if is_late else None)

    @precondition(lambda self: any(agent.tasks for agent in self.world.core.books.agents.values()))
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        """A task ends and its framework, if it is there, acknowledges that."""
        tasks = [one for agent in self.world.core.books.agents.values() for one in agent.all_tasks()]
        chosen = data.draw(st.sampled_from(tasks))
        agent = next(one for one in self.agents if one.id == chosen.agent_id)
        uuid = agent.update(chosen.id, chosen.framework_id, mesos_pb2.TASK_FINISHED)
        self.world.call(
            chosen.framework_id,
            "ACKNOWLEDGE",
            agent_id=chosen.message.agent_id,
            task_id=chosen.message.task_id,
            uuid=uuid,
        )

    @precondition(lambda self: self.agents)
    @rule(data=st.data(), executor=st.sampled_from("ef"))
    def exit_executor(self, data: st.DataObject, executor: str) -> None:
        agent = data.draw(st.sampled_from(self.agents))
        message = internal_pb2.ExitedExecutorMessage(status=0)
        message.slave_id.value = agent.id
        message.executor_id.value = executor
        message.framework_id.value = data.draw(st.sampled_from([*self.known(), "none"]))
        agent.say(message)

    @rule(seconds=st.sampled_from([0.5, 1.0, 6.0, 30.0, 80.0, 700.0]), pongs=st.booleans())
    def wait(self, seconds: float, pongs: bool) -> None:
        for _ in range(int(seconds / 10) if pongs else 0):
            self.world.wait(10.0)
            for agent in self.agents:
                agent.pong()
        self.world.wait(seconds % 10 if pongs else seconds)

    # --- what must hold ---

    @invariant()
    def used_and_offered_fit_each_agent(self) -> None:
        for agent in self.world.core.books.agents.values():
            assert agent.total.contains((agent.used() + agent.offered()).unallocated())

    @invariant()
    def the_allocator_counts_what_the_books_count(self) -> None:
        books = self.world.core.books
        for agent in books.agents.values():
            given = {fid: resources for fid, resources in self.world.allocator.given(agent.id).items() if resources}
            counted = {}
            for framework_id in {*agent.tasks, *agent.executors, *(one.framework_id for one in agent.offers.values())}:
                offered = (one.resources for one in agent.offers.values() if one.framework_id == framework_id)
                if total := added((agent.used_by(framework_id), *offered)):
                    counted[framework_id] = total
            assert given == counted

    @invariant()
    def an_offer_is_in_the_three_books_or_in_none(self) -> None:
        books = self.world.core.books
        assert books.offers == collected(framework.offers for framework in books.frameworks.values())
        assert books.offers == collected(agent.offers for agent in books.agents.values())

    @invariant()
    def offers_are_only_of_connected_agents_to_connected_frameworks(self) -> None:
        books = self.world.core.books
        for offer in books.offers.values():
            assert books.frameworks[offer.framework_id].is_connected
            assert books.agents[offer.agent_id].is_active

    @invariant()
    def an_agent_is_in_one_state(self) -> None:
        books = self.world.core.books
        ids = [*books.agents, *books.recovered_agents, *books.unreachable_agents, *books.gone_agents]
        assert len(set(ids)) == len(ids)
        assert books.registry.admitted.keys() == books.agents.keys() | books.recovered_agents.keys()
        assert books.registry.marks.keys() <= books.registry.admitted.keys() | books.registry.unreachable.keys()

    @invariant()
    def an_empty_agent_that_is_there_does_not_drain(self) -> None:
        for agent in self.world.core.books.agents.values():
            if agent.is_connected and agent.drain is not None and agent.drain.state == mesos_pb2.DRAINING:
                assert any(agent.all_tasks())

    @invariant()
    def the_drivers_that_are_kept_are_the_connected_ones(self) -> None:
        books = self.world.core.books
        connected = {one.id for one in books.connected_frameworks() if one.pid}
        assert books.registry.drivers.keys() == connected
        assert all((one.stream_id is None) == bool(one.pid) for one in books.connected_frameworks())

    @invariant()
    def who_only_listens_knows_what_the_books_know(self) -> None:
        books, mirror = self.world.core.books, self.world.mirror
        assert mirror.frameworks == set(books.frameworks)
        assert mirror.agents >= set(books.agents)
        for framework in books.frameworks.values():
            for one in (*framework.tasks.values(), *framework.unreachable.values()):
                # or what the last status says: one with the state of the one before is not announced, though the agent
                # may know a later state already (Mesos 1.11)
                assert mirror.tasks[framework.id, one.id] in (one.message.state, one.message.status_update_state)

    @invariant()
    def a_task_is_in_one_place(self) -> None:
        books = self.world.core.books
        for framework in books.frameworks.values():
            assert not set(framework.tasks) & set(framework.unreachable)
            for one in framework.tasks.values():
                assert books.agents[one.agent_id].tasks[framework.id][one.id] is one
        for agent in books.agents.values():
            for one in agent.all_tasks():
                assert books.frameworks[one.framework_id].tasks[one.id] is one

    @invariant()
    def an_ended_task_holds_nothing_and_a_running_one_does(self) -> None:
        for agent in self.world.core.books.agents.values():
            for one in agent.all_tasks():
                assert one.holds == (one.message.state not in TERMINAL_STATES)

    @invariant()
    def what_is_remembered_is_bounded(self) -> None:
        assert len(self.world.core.books.completed_frameworks) <= 2
        assert all(len(framework.completed) <= 3 for framework in self.all_frameworks())

    # --- looking around ---

    def live(self) -> list[Framework]:
        books = self.world.core.books
        streams = {framework.stream_id for framework in books.frameworks.values()}
        return [framework for framework in self.frameworks if framework.stream_id in streams]

    def draw_offer(self, data: st.DataObject) -> Offer | None:
        offers = self.world.core.books.offers
        if not offers:
            self.world.wait(6.0)
        return data.draw(st.sampled_from(list(offers.values()))) if offers else None

    def accept(self, offers: list[Offer], operation: Operation | None, refuse: float = 0.0) -> None:
        self.world.call(
            offers[0].framework_id,
            "ACCEPT",
            offer_ids=[shown(offer).id for offer in offers],
            operations=[operation] if operation else [],
            filters=mesos_pb2.Filters(refuse_seconds=refuse),
        )

    def known(self) -> list[FrameworkId]:
        return list(self.world.core.books.frameworks)

    def all_frameworks(self) -> list[books.Framework]:
        known = self.world.core.books
        return [*known.frameworks.values(), *known.completed_frameworks.values()]

    def tasks_once_on(self, agent: Agent) -> list[books.Task]:
        known = self.world.core.books.agents.get(AgentId(agent.id))
        running = list(known.all_tasks()) if known else []
        lost = [
            one
            for framework in self.all_frameworks()
            for one in (*framework.unreachable.values(), *framework.completed)
        ]
        return running + [one for one in lost if one.agent_id == agent.id]


def collected(parts: Iterable[dict[OfferId, Offer]]) -> dict[OfferId, Offer]:
    return {offer_id: offer for part in parts for offer_id, offer in part.items()}


QUICK = settings(
    max_examples=70, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
FINDING = settings(QUICK, max_examples=3000, phases=[Phase.generate])
"""Ends at the first that fails, and does not shrink it: one failure is enough."""


def test_the_books_add_up_in_any_order() -> None:
    run_state_machine_as_test(MasterMachine, settings=QUICK)


def forgetful_release(ledger: Ledger, task: object) -> None:
    """A master that forgets to give an ended task's resources back."""
    task.holds = False  # type: ignore[attr-defined]


def generous_take(ledger: Ledger, offer: Offer) -> None:
    """A master that leaves an accepted offer in its agent's book."""
    del ledger.books.offers[offer.id]
    del ledger.books.frameworks[offer.framework_id].offers[offer.id]


@pytest.mark.parametrize(
    ("name", "fault"), [("_release", forgetful_release), ("take_offer", generous_take)], ids=["release", "take"]
)
def test_a_broken_core_is_found_out(monkeypatch: pytest.MonkeyPatch, name: str, fault: object) -> None:
    monkeypatch.setattr(Ledger, name, fault)
    with pytest.raises((AssertionError, KeyError, IllegalStep)):
        run_state_machine_as_test(MasterMachine, settings=FINDING)
