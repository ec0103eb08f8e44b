"""What a restarted master remembers, and how agents and frameworks come back to it."""

from __future__ import annotations

import pytest

from tests.master.world import Agent, Framework, World, flags, framework_info, task
from tfmesos.master.core.events import AgentDeactivated, AgentMarkedGone, TornDown, WeightsSet
from tfmesos.wire import internal_pb2, master_pb2, mesos_pb2, scheduler_pb2
from tfmesos.wire.text import state_name

REGISTER_TIMEOUT_S = 600.0


class Cluster:
    """A framework with one running task."""

    def __init__(self) -> None:
        self.world = World()
        self.framework = self.world.subscribe(framework_info(failover_timeout=3600.0, checkpoint=True))
        self.agent = self.world.register()
        self.framework.accept(self.framework.take_offers(), [task("t", self.offer())])
        [run] = self.agent.take(internal_pb2.RunTaskMessage)
        self.run = run
        self.agent.update("t", self.framework.id, mesos_pb2.TASK_RUNNING)
        books = self.world.core.books
        self.task = mesos_pb2.Task()
        self.task.CopyFrom(books.frameworks[self.framework.id].tasks["t"].message)  # type: ignore[index]

    def offer(self) -> mesos_pb2.Offer:
        return mesos_pb2.Offer(agent_id=mesos_pb2.AgentID(value=self.agent.id))

    def restart(self) -> World:
        framework_id = self.framework.id
        self.world = self.agent.world = self.world.restarted()
        self.world.owners[self.framework.stream_id] = framework_id
        return self.world

    def subscribe_again(self) -> Framework:
        info = framework_info(failover_timeout=3600.0, checkpoint=True, id=self.run.framework.id.value)
        return self.world.subscribe(info)

    def return_agent(self) -> None:
        self.agent.reregister([self.task], [self.run.framework])


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.mark.parametrize("who_is_first", ["agent", "framework"])
def test_a_framework_keeps_its_id_and_its_tasks_over_a_restart(cluster: Cluster, who_is_first: str) -> None:
    framework_id = cluster.framework.id
    cluster.restart()
    if who_is_first == "agent":
        cluster.return_agent()
        framework = cluster.subscribe_again()
    else:
        framework = cluster.subscribe_again()
        cluster.return_agent()
    assert framework.id == framework_id
    framework.take()
    framework.call("RECONCILE")
    assert framework.states() == ["TASK_RUNNING"]
    confirmed = cluster.world.sent[cluster.agent.pid]
    assert any(isinstance(one, internal_pb2.SlaveReregisteredMessage) for one in confirmed)
    cluster.agent.update("t", framework_id, mesos_pb2.TASK_FINISHED)
    [status] = framework.take_statuses()
    framework.acknowledge(status)
    assert not cluster.world.core.books.frameworks[framework_id].tasks


def test_of_an_agent_that_is_expected_back_nothing_is_said(cluster: Cluster) -> None:
    cluster.restart()
    framework = cluster.subscribe_again()
    framework.take()
    wanted = scheduler_pb2.Call.Reconcile.Task()
    wanted.task_id.value = "t"
    framework.call("RECONCILE", tasks=[wanted])
    assert framework.states() == []


def test_an_agent_that_does_not_come_back_is_unreachable(cluster: Cluster) -> None:
    cluster.restart()
    framework = cluster.subscribe_again()
    cluster.world.wait(REGISTER_TIMEOUT_S - 1)
    framework.take()
    cluster.world.wait(2)
    failures = [one.failure.agent_id.value for one in framework.take() if one.HasField("failure")]
    assert failures == [cluster.agent.id]
    wanted = scheduler_pb2.Call.Reconcile.Task()
    wanted.task_id.value = "t"
    wanted.agent_id.value = cluster.agent.id
    framework.call("RECONCILE", tasks=[wanted])
    assert framework.states() == ["TASK_UNREACHABLE"]


def test_an_unreachable_agent_may_come_back_to_the_next_master(cluster: Cluster) -> None:
    cluster.restart()
    cluster.world.wait(REGISTER_TIMEOUT_S + 1)
    cluster.restart()
    framework = cluster.subscribe_again()
    framework.take()
    cluster.return_agent()
    [status] = framework.take_statuses()
    assert (state_name(status.state), status.message) == ("TASK_RUNNING", "Unreachable agent re-reregistered")


def test_a_framework_that_ended_is_refused_by_the_next_master_and_ended_on_its_agents(cluster: Cluster) -> None:
    assert cluster.world.ask(TornDown(cluster.framework.id)) == 200
    cluster.restart()
    refused = cluster.subscribe_again()
    assert [one.error.message for one in refused.take()] == ["Framework has been removed"]
    cluster.return_agent()
    [shutdown] = cluster.agent.take(internal_pb2.ShutdownFrameworkMessage)
    assert shutdown.framework_id.value == cluster.run.framework.id.value
    assert not cluster.world.core.books.frameworks


def test_a_framework_that_never_comes_back_is_ended_after_its_time(cluster: Cluster) -> None:
    cluster.run.framework.failover_timeout = 0
    cluster.restart()
    cluster.return_agent()
    cluster.world.wait(59)
    assert cluster.world.core.books.frameworks
    cluster.agent.pong()
    cluster.world.wait(2)
    assert not cluster.world.core.books.frameworks
    assert cluster.agent.take(internal_pb2.ShutdownFrameworkMessage)


def test_marks_of_operators_outlive_a_restart(cluster: Cluster) -> None:
    assert cluster.world.ask(AgentDeactivated(cluster.agent.id)) == 200  # type: ignore[arg-type]
    cluster.restart()
    framework = cluster.subscribe_again()
    cluster.return_agent()
    cluster.world.wait(5.0)
    assert framework.take_offers() == []


def test_a_returning_agent_is_announced_with_the_marks_of_operators(cluster: Cluster) -> None:
    cluster.world.ask(AgentDeactivated(cluster.agent.id))  # type: ignore[arg-type]
    cluster.restart()
    cluster.return_agent()
    [event] = [one for one in cluster.world.announced if one.type == master_pb2.Event.AGENT_ADDED]
    assert (event.agent_added.agent.active, event.agent_added.agent.deactivated) == (False, True)


def test_an_agent_that_returns_before_its_turn_to_be_given_up_stays() -> None:
    world = World(flags(agent_removal_rate_limit=(1, 60.0)))
    agents = [world.register(port=5051 + number) for number in range(2)]
    restarted = world.restarted()
    for agent in agents:
        agent.world = restarted
    restarted.wait(REGISTER_TIMEOUT_S + 1)
    assert len(restarted.core.books.recovered_agents) == 1
    for agent in agents:
        agent.reregister()
    restarted.wait(61.0)
    assert len(restarted.core.books.agents) == 2


def test_an_agent_with_a_framework_that_makes_no_sense_is_ignored_as_a_whole(cluster: Cluster) -> None:
    cluster.restart()
    info = cluster.run.framework
    quantities = info.offer_filters["*"].min_allocatable_resources.quantities.add()
    quantities.quantities["cpus"].value = float("nan")
    cluster.return_agent()
    books = cluster.world.core.books
    assert (books.agents, books.frameworks) == ({}, {})
    assert list(books.recovered_agents) == [cluster.agent.id]


def test_weights_of_flags_are_not_kept_for_a_master_with_other_flags() -> None:
    world = World(flags(weights=(("a", 2.0),)))
    assert world.core.books.weights == {"a": 2.0}
    assert not list(world.registry.operations())
    world.ask(WeightsSet({"b": 3.0}))
    assert world.restarted().core.books.weights == {"a": 2.0, "b": 3.0}


def test_a_gone_agent_is_shut_down_by_the_next_master(cluster: Cluster) -> None:
    assert cluster.world.ask(AgentMarkedGone(cluster.agent.id)) == 200  # type: ignore[arg-type]
    cluster.restart()
    cluster.return_agent()
    [shutdown] = cluster.agent.take(internal_pb2.ShutdownMessage)
    assert shutdown.message == "Agent has been marked gone"
    assert not cluster.world.core.books.agents


def test_agents_become_unreachable_one_after_the_other_if_that_is_limited() -> None:
    world = World(flags(agent_removal_rate_limit=(1, 60.0)))
    agents = [world.register(port=5051 + number) for number in range(3)]
    world.wait(90.0)
    assert len(world.core.books.agents) == 2
    for agent in agents:
        agent.pong()
    world.wait(61.0)
    assert len(world.core.books.agents) == 2, "the two that answered in time stay"
    world.wait(300.0)
    assert world.core.books.agents == {}


def test_what_was_refused_of_an_agent_is_offered_again_when_its_attributes_change(cluster: Cluster) -> None:
    agent: Agent = cluster.agent
    cluster.framework.take()
    cluster.world.wait(10.0)
    cluster.framework.decline(cluster.framework.take_offers(), refuse_s=1000.0)
    agent.break_link()
    agent.reregister([cluster.task], [cluster.run.framework])
    cluster.world.wait(2.0)
    assert cluster.framework.take_offers() == []
    agent.attributes = "rack:2"
    agent.reregister([cluster.task], [cluster.run.framework])
    cluster.world.wait(2.0)
    [offer] = cluster.framework.take_offers()
    assert [one.name for one in offer.attributes] == ["rack"]
