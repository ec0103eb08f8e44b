"""Scheduler drivers: frameworks that subscribe by libprocess."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.master.drivers import Driver
from tests.master.world import Agent, World, framework_info, task
from tfmesos.master.core.events import DriverCalled, LinkBroken, PeerSaid
from tfmesos.transport import NO_PID
from tfmesos.wire import DecodeError, internal_pb2, mesos_pb2, scheduler_pb2
from tfmesos.wire.driver_call import decode_driver_call

Call = scheduler_pb2.Call


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def driver(world: World) -> Driver:
    return Driver(world, 7001).subscribe()


@pytest.fixture
def agent(world: World, driver: Driver) -> Agent:
    return world.register()


def launch(driver: Driver, agent: Agent) -> None:
    [offer] = driver.offers()
    message = internal_pb2.LaunchTasksMessage(
        framework_id=mesos_pb2.FrameworkID(value=driver.id),
        offer_ids=[offer.id],
        tasks=[task("t", offer)],
        filters=mesos_pb2.Filters(),
    )
    driver.world.do(PeerSaid(driver.pid, message))
    [run] = agent.take(internal_pb2.RunTaskMessage)
    assert run.pid == str(driver.pid)


def test_a_driver_that_asks_twice_is_one_framework(world: World, driver: Driver) -> None:
    driver.id = ""
    driver.subscribe()
    assert len(driver.take(internal_pb2.FrameworkRegisteredMessage)) == 2
    assert len(world.core.books.frameworks) == 1


def test_offers_name_the_pids_of_their_agents(driver: Driver, agent: Agent) -> None:
    [offers] = driver.take(internal_pb2.ResourceOffersMessage)
    assert [one.agent_id.value for one in offers.offers] == [agent.id]
    assert list(offers.pids) == [str(agent.pid)]


def test_a_task_by_messages_older_than_calls(driver: Driver, agent: Agent) -> None:
    launch(driver, agent)
    agent.update("t", driver.id, mesos_pb2.TASK_RUNNING)
    [update] = driver.take(internal_pb2.StatusUpdateMessage)
    assert (update.update.status.state, update.pid) == (mesos_pb2.TASK_RUNNING, str(agent.pid))
    acknowledgement = internal_pb2.StatusUpdateAcknowledgementMessage(
        slave_id=update.update.slave_id,
        framework_id=update.update.framework_id,
        task_id=update.update.status.task_id,
        uuid=update.update.uuid,
    )
    driver.world.do(PeerSaid(driver.pid, acknowledgement))
    [forwarded] = agent.take(internal_pb2.StatusUpdateAcknowledgementMessage)
    assert forwarded.uuid == update.update.uuid
    kill = internal_pb2.KillTaskMessage(framework_id=update.update.framework_id, task_id=forwarded.task_id)
    driver.world.do(PeerSaid(driver.pid, kill))
    assert agent.take(internal_pb2.KillTaskMessage)


def test_what_the_master_itself_says_of_a_task_is_not_to_be_acknowledged(driver: Driver, agent: Agent) -> None:
    driver.call("RECONCILE", tasks=[Call.Reconcile.Task(task_id=mesos_pb2.TaskID(value="x"))])
    [update] = driver.take(internal_pb2.StatusUpdateMessage)
    assert (update.pid, update.update.uuid) == ("@0.0.0.0:0", b"")


def test_a_driver_that_takes_over_ends_the_one_before(world: World, driver: Driver, agent: Agent) -> None:
    heir = Driver(world, 7002, driver.id).subscribe(is_forced=True)
    [error] = driver.take(internal_pb2.FrameworkErrorMessage)
    assert error.message == "Framework failed over"
    assert heir.take(internal_pb2.FrameworkRegisteredMessage)
    [told] = agent.take(internal_pb2.UpdateFrameworkMessage)
    assert told.pid == str(heir.pid)
    driver.call("SUPPRESS")
    assert not world.core.books.frameworks[heir.id].suppressed  # type: ignore[index]
    world.wait(1.0)
    assert heir.offers()


def test_a_driver_that_does_not_force_gets_nothing_of_another(world: World, driver: Driver) -> None:
    stranger = Driver(world, 7002, driver.id).subscribe()
    [error] = stranger.take(internal_pb2.FrameworkErrorMessage)
    assert error.message == "Framework failed over"
    driver.call("SUPPRESS")
    assert world.core.books.frameworks[driver.id].suppressed  # type: ignore[index]


def test_a_driver_that_lost_its_link_is_told_so_and_may_come_back(world: World, driver: Driver, agent: Agent) -> None:
    driver.offers()
    driver.break_link()
    driver.call("REVIVE")
    [error] = driver.take(internal_pb2.FrameworkErrorMessage)
    assert error.message == "Framework disconnected"
    driver.subscribe()
    assert driver.take(internal_pb2.FrameworkReregisteredMessage)
    assert driver.offers()


def test_a_driver_that_stays_away_is_removed(world: World, driver: Driver) -> None:
    driver.break_link()
    world.wait(59.0)
    assert world.core.books.frameworks
    world.wait(2.0)
    assert not world.core.books.frameworks


def test_an_aborted_driver_gets_no_more_offers_until_it_subscribes(world: World, driver: Driver, agent: Agent) -> None:
    aborted = internal_pb2.DeactivateFrameworkMessage(framework_id=mesos_pb2.FrameworkID(value=driver.id))
    world.do(PeerSaid(driver.pid, aborted))
    assert driver.take(internal_pb2.RescindResourceOfferMessage)
    driver.offers()
    world.wait(5.0)
    assert not driver.offers()
    driver.subscribe()
    world.wait(1.0)
    assert driver.offers()


def test_a_driver_does_not_notice_a_restart(world: World, driver: Driver, agent: Agent) -> None:
    launch(driver, agent)
    tasks = [one.message for one in world.core.books.frameworks[driver.id].tasks.values()]  # type: ignore[index]
    infos = [world.core.books.frameworks[driver.id].info]  # type: ignore[index]
    driver.world = agent.world = world.restarted()
    assert [one.connected for one in agent.take(internal_pb2.PingSlaveMessage)] == [False]
    agent.reregister(tasks, infos)
    assert driver.offers()
    driver.call("KILL", task_id=mesos_pb2.TaskID(value="t"))
    assert agent.take(internal_pb2.KillTaskMessage)


def test_a_driver_that_wants_no_offers_gets_none_after_a_restart_either(world: World, driver: Driver) -> None:
    driver.call("SUPPRESS")
    driver.world = world.restarted()
    driver.world.register()
    assert not driver.offers()
    driver.call("REVIVE")
    assert driver.offers()


def test_an_aborted_driver_gets_no_offers_after_a_restart_either(world: World, driver: Driver) -> None:
    aborted = internal_pb2.DeactivateFrameworkMessage(framework_id=mesos_pb2.FrameworkID(value=driver.id))
    world.do(PeerSaid(driver.pid, aborted))
    driver.world = world.restarted()
    driver.world.register()
    assert not driver.offers()
    driver.subscribe()
    driver.world.wait(1.0)
    assert driver.offers()


def test_a_driver_that_died_with_the_master_is_removed_after_its_time(world: World, driver: Driver) -> None:
    restarted = world.restarted()
    restarted.do(LinkBroken(driver.pid))
    assert not restarted.registry.drivers
    restarted.wait(61.0)
    assert not restarted.core.books.frameworks


def test_a_framework_may_move_from_the_driver_to_http(world: World, driver: Driver) -> None:
    framework = world.subscribe(framework_info(failover_timeout=60.0, id=driver.id))
    assert framework.id == driver.id
    [error] = driver.take(internal_pb2.FrameworkErrorMessage)
    assert error.message == "Framework failed over"
    assert not world.registry.drivers


def test_who_does_not_say_where_it_comes_from_speaks_for_nobody(world: World) -> None:
    framework = world.subscribe()
    world.register()
    framework.take()
    message = internal_pb2.DeactivateFrameworkMessage(framework_id=mesos_pb2.FrameworkID(value=framework.id))
    world.do(PeerSaid(NO_PID, message))
    call = Call(type=Call.TEARDOWN, framework_id=message.framework_id)
    world.do(DriverCalled(NO_PID, call, is_forced=True))
    assert framework.take() == []
    assert world.core.books.frameworks[framework.id].offers


@given(st.binary(max_size=60))
def test_random_bytes_are_a_call_or_refused(data: bytes) -> None:
    with contextlib.suppress(DecodeError):
        decode_driver_call(data)


@given(st.lists(st.text("ab")))
def test_any_call_but_subscribe_is_read_as_it_is(roles: list[str]) -> None:
    call = Call(type=Call.REVIVE)
    call.revive.roles.extend(roles)
    assert decode_driver_call(call.SerializeToString()) == (call, False)


SUBSCRIBE_V0 = b"\x10\x01\x1a\x10" + b"\x0a\x06\x0a\x01u\x12\x01n" + b"\x10\x01" + b"\x1a\x01a" + b"\x1a\x01b"


def test_the_numbers_of_a_v0_subscribe_are_those_of_v0() -> None:
    call, is_forced = decode_driver_call(SUBSCRIBE_V0)
    assert (call.type, call.subscribe.framework_info.name, is_forced) == (Call.SUBSCRIBE, "n", True)
    assert list(call.subscribe.suppressed_roles) == ["a", "b"]


@pytest.mark.parametrize("length", range(1, len(SUBSCRIBE_V0)))
def test_a_v0_call_that_is_cut_off_is_refused_or_means_less(length: int) -> None:
    try:
        call, _ = decode_driver_call(SUBSCRIBE_V0[:length])
    except DecodeError:
        return
    assert not call.subscribe.framework_info.name
