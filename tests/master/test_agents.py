"""Agents that go silent, leave, and come back or do not: what becomes of their tasks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.master.builders import described, running
from tests.master.world import Agent, Capability, World, flags, framework_info, task
from tfmesos.master.ids import AgentId
from tfmesos.wire import internal_pb2, mesos_pb2, scheduler_pb2

Event = scheduler_pb2.Event
RUNNING = mesos_pb2.TASK_RUNNING


def test_a_silent_agent_is_unreachable_after_five_pings() -> None:
    world = World(flags(agent_ping_timeout=10.0))
    framework, agent = running(world)
    world.wait(49)
    assert framework.states() == []
    world.wait(1)
    events = framework.take()
    status = events[0].update.status
    assert described(status) == (
        "TASK_UNREACHABLE",
        "SOURCE_MASTER",
        "REASON_AGENT_REMOVED",
        "health check timed out",
    )
    assert status.unreachable_time.nanoseconds == round(world.now * 1e9)
    assert [Event.Type.Name(event.type) for event in events[1:]] == ["FAILURE"]
    assert events[1].failure.agent_id.value == agent.id


def test_an_old_framework_is_told_task_lost_instead() -> None:
    world = World()
    framework, _ = running(world, framework_info(capabilities=(Capability.RESERVATION_REFINEMENT,)))
    world.wait(80)
    assert framework.states() == ["TASK_LOST"]


def test_pongs_keep_an_agent() -> None:
    world = World()
    framework, agent = running(world)
    for _ in range(10):
        world.wait(15)
        agent.pong()
    assert framework.states() == []


def test_an_unreachable_agent_that_returns_brings_its_tasks_back() -> None:
    world = World()
    framework, agent = running(world)
    books = world.core.books
    messages = [one.message for one in books.frameworks[framework.id].tasks.values()]
    listed = mesos_pb2.Task()
    listed.CopyFrom(messages[0])
    world.wait(80)
    framework.take()
    agent.reregister([listed], [books.frameworks[framework.id].info])
    [status] = framework.take_statuses()
    assert described(status) == (
        "TASK_RUNNING",
        "SOURCE_MASTER",
        "REASON_AGENT_REREGISTERED",
        "Unreachable agent re-reregistered",
    )
    assert not status.HasField("uuid")
    assert "t" in books.frameworks[framework.id].tasks
    assert not books.unreachable_agents
    [confirmed] = agent.take(internal_pb2.SlaveReregisteredMessage)
    assert confirmed.slave_id.value == agent.id


def test_a_broken_link_rescinds_offers_then_loses_tasks_without_checkpoint() -> None:
    world = World()
    framework, agent = running(world)
    framework.call("REVIVE")
    framework.take()
    agent.break_link()
    events = framework.take()
    assert [Event.Type.Name(event.type) for event in events] == ["RESCIND", "UPDATE"]
    assert described(events[1].update.status) == (
        "TASK_LOST",
        "SOURCE_MASTER",
        "REASON_AGENT_DISCONNECTED",
        "Agent host disconnected",
    )


def test_with_checkpoint_nothing_happens_until_the_time_to_return_is_over() -> None:
    world = World()
    framework, agent = running(world, framework_info(checkpoint=True))
    agent.break_link()
    assert framework.states() == []
    for _ in range(40):
        world.wait(15)
        agent.pong()
    [status] = framework.take_statuses()
    assert status.message == "agent did not reregister within 10mins after disconnecting"


def test_a_task_that_an_agent_brings_back_ends_though_another_of_its_id_is_unreachable() -> None:
    world = World()
    framework, agent = running(world)
    books = world.core.books
    live = books.frameworks[framework.id]
    brought = mesos_pb2.Task()
    brought.CopyFrom(next(iter(live.tasks.values())).message)
    agent.break_link()
    other = world.register(port=5052)
    world.wait(1.0)
    offer = framework.take_offers()[-1]
    framework.accept([offer], [task("t", offer)])
    for _ in range(6):
        world.wait(15.0)
        agent.pong()
    assert list(live.unreachable) == ["t"]
    assert list(books.agents) == [agent.id], f"{other.id} is lost"
    agent.reregister([brought], [live.info])
    agent.update("t", framework.id, mesos_pb2.TASK_FINISHED)
    framework.acknowledge(framework.take_statuses()[-1])
    assert (live.tasks, books.agents[AgentId(agent.id)].tasks) == ({}, {})


def test_an_agent_that_left_tasks_out_is_asked_about_them() -> None:
    world = World()
    framework, agent = running(world, framework_info(checkpoint=True))
    agent.break_link()
    agent.reregister()
    [confirmed] = agent.take(internal_pb2.SlaveReregisteredMessage)
    [asked] = confirmed.reconciliations
    assert asked.framework_id.value == framework.id
    assert [status.task_id.value for status in asked.statuses] == ["t"]


def test_an_agent_that_unregisters_takes_its_tasks_with_it() -> None:
    world = World()
    framework, agent = running(world)
    agent.say(internal_pb2.UnregisterSlaveMessage(slave_id=mesos_pb2.AgentID(value=agent.id)))
    events = framework.take()
    assert described(events[0].update.status) == (
        "TASK_LOST",
        "SOURCE_MASTER",
        "REASON_AGENT_REMOVED",
        "Agent host removed: the agent unregistered",
    )
    assert events[-1].type == Event.FAILURE


def test_a_new_agent_at_the_address_of_a_lost_one_replaces_it() -> None:
    world = World()
    framework, agent = running(world, framework_info(checkpoint=True))
    old = agent.id
    agent.break_link()
    agent.id = ""
    world.sent.clear()
    agent.register()
    assert agent.id != old
    [status] = framework.take_statuses()
    assert status.message == "Agent host removed: a new agent registered at the same address"


def test_registering_twice_gives_the_same_id_again() -> None:
    world = World()
    agent = world.register()
    first = agent.id
    world.sent.clear()
    agent.register()
    assert agent.id == first
    assert len(world.core.books.agents) == 1


@pytest.mark.parametrize("version", ["", "0.28.2", "abc", "1.11"])
def test_an_agent_without_a_version_since_1_0_0_is_ignored(version: str) -> None:
    world = World()
    agent = world.register()
    other = Agent(world, replace(agent.pid, port=9), agent.resources)
    other.say(internal_pb2.RegisterSlaveMessage(slave=other.info(), version=version))
    assert world.sent[other.pid] == []


def test_a_master_that_knows_nobody_takes_agent_tasks_and_framework_over() -> None:
    first = World()
    framework, agent = running(first, framework_info(checkpoint=True, failover_timeout=100.0))
    info = first.core.books.frameworks[framework.id].info
    message = next(iter(first.core.books.frameworks[framework.id].tasks.values())).message
    second = World()
    returned = Agent(second, agent.pid, agent.resources)
    returned.id = "X-S7"
    message.agent_id.value = returned.id
    returned.reregister([message], [info])
    back = second.subscribe(info)
    assert back.id == framework.id
    back.take()
    back.call("RECONCILE")
    assert back.states() == ["TASK_RUNNING"]
    [told] = [one for one in second.core.books.agents.values() if one.id == "X-S7"]
    assert told.used().scalar("cpus") == 1000


def test_an_agent_that_lists_more_than_it_has_is_ignored() -> None:
    world = World()
    framework, agent = running(World(), framework_info(checkpoint=True))
    message = next(iter(framework.world.core.books.frameworks[framework.id].tasks.values())).message
    for resource in message.resources:
        resource.scalar.value = 99
    info = framework.world.core.books.frameworks[framework.id].info
    liar = Agent(world, agent.pid, agent.resources)
    liar.id = "X-S1"
    liar.reregister([message], [info])
    assert not world.core.books.agents
