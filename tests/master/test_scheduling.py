"""Frameworks and offers: what the core does, without sockets and clocks."""

from __future__ import annotations

import pytest

from tests.master.world import MODERN, Capability, World, flags, framework_info, task
from tfmesos.master.allocator.filters import OfferFilters
from tfmesos.master.core.lifecycle import FrameworkState, IllegalStep
from tfmesos.master.ids import AgentId, FrameworkId
from tfmesos.resources import Resources
from tfmesos.wire import internal_pb2, mesos_pb2, scheduler_pb2

Event = scheduler_pb2.Event


def kinds(events: list[scheduler_pb2.Event]) -> list[str]:
    return [Event.Type.Name(event.type) for event in events]


def test_a_subscription_starts_with_subscribed_heartbeat_and_offers_at_once() -> None:
    world = World()
    world.register()
    framework = world.subscribe()
    events = framework.take()
    assert kinds(events) == ["SUBSCRIBED", "HEARTBEAT", "OFFERS"]
    assert events[0].subscribed.framework_id.value == "M-0000"
    assert events[0].subscribed.heartbeat_interval_seconds == 15.0


def test_heartbeats_come_every_15_seconds_whatever_else_is_told() -> None:
    world = World()
    framework = world.subscribe()
    framework.take()
    world.wait(31)
    assert kinds(framework.take()) == ["HEARTBEAT", "HEARTBEAT"]


def test_an_agent_that_comes_later_is_offered_at_once() -> None:
    world = World()
    framework = world.subscribe()
    framework.take()
    agent = world.register("cpus:4;mem:4096")
    [offer] = framework.take_offers()
    assert offer.agent_id.value == agent.id
    assert Resources.from_proto(offer.resources) == Resources.parse("cpus:4;mem:4096")
    assert not offer.HasField("allocation_info")
    assert offer.url.path == "/slave(1)"


def test_a_multi_role_framework_sees_the_role_in_offer_and_resources() -> None:
    world = World()
    world.register()
    framework = world.subscribe(framework_info(capabilities=(*MODERN, Capability.MULTI_ROLE), roles=["r"]))
    [offer] = framework.take_offers()
    assert offer.allocation_info.role == "r"
    assert {resource.allocation_info.role for resource in offer.resources} == {"r"}


def test_an_old_framework_gets_resources_in_the_old_format() -> None:
    world = World()
    world.register("cpus(r):2;mem:64")
    framework = world.subscribe(framework_info(capabilities=(), role="r"))
    [offer] = framework.take_offers()
    assert {resource.name: resource.role for resource in offer.resources} == {"cpus": "r", "mem": "*"}


def test_a_declined_offer_stays_away_for_its_time_and_revive_ends_that() -> None:
    world = World()
    world.register()
    framework = world.subscribe()
    framework.decline(framework.take_offers(), refuse_s=10.0)
    world.wait(9)
    assert framework.take_offers() == []
    world.wait(3)
    offers = framework.take_offers()
    framework.decline(offers, refuse_s=3600.0)
    world.wait(5)
    assert framework.take_offers() == []
    framework.call("REVIVE")
    assert len(framework.take_offers()) == 1


def test_more_than_was_refused_is_offered_in_spite_of_the_filter() -> None:
    world = World()
    agent = world.register()
    framework = world.subscribe()
    offers = framework.take_offers()
    framework.accept(offers, [task("t", offers[0], "cpus:3")], refuse_s=3600.0)
    world.wait(2)
    assert framework.take_offers() == []
    agent.update("t", framework.id, mesos_pb2.TASK_FINISHED)
    world.wait(1)
    assert len(framework.take_offers()) == 1


def test_a_refusal_is_replaced_only_by_one_that_hides_more_for_longer() -> None:
    one, two = Resources.parse("cpus:1"), Resources.parse("cpus:2")
    owner, agent_id = (FrameworkId("f"), "r"), AgentId("a")
    filters = OfferFilters()
    filters.add(owner, agent_id, one, until=100.0)
    filters.add(owner, agent_id, two, until=50.0)
    assert filters.is_hidden(owner, agent_id, one, now=60.0)
    assert not filters.is_hidden(owner, agent_id, two, now=60.0)
    filters.add(owner, agent_id, two, until=200.0)
    assert filters.is_hidden(owner, agent_id, one, now=150.0)
    assert not filters.is_hidden(owner, agent_id, two, now=200.0)


@pytest.mark.parametrize(
    ("wanted", "seconds"),
    [(None, 5.0), (-1.0, 5.0), (float("nan"), 5.0), (0.0, 0.0), (0.5, 1.0), (7.0, 7.0), (1e12, 31536000.0)],
)
def test_how_long_a_refusal_holds(wanted: float | None, seconds: float) -> None:
    filters = mesos_pb2.Filters() if wanted is None else mesos_pb2.Filters(refuse_seconds=wanted)
    assert World().core._launches.refuse_s(filters) == seconds


def test_suppressed_roles_get_nothing_until_they_are_revived() -> None:
    world = World()
    framework = world.subscribe()
    framework.call("SUPPRESS")
    world.register()
    world.wait(3)
    assert framework.take_offers() == []
    framework.call("REVIVE")
    assert len(framework.take_offers()) == 1


def test_a_suppress_with_a_foreign_role_is_dropped_as_a_whole() -> None:
    world = World()
    framework = world.subscribe(framework_info(capabilities=(*MODERN, Capability.MULTI_ROLE), roles=["a", "b"]))
    framework.call("SUPPRESS", roles=["a", "c"])
    world.register()
    assert len(framework.take_offers()) == 1


def test_gpu_agents_are_shown_to_gpu_frameworks_only() -> None:
    world = World()
    plain = world.subscribe()
    gpu = world.subscribe(framework_info(capabilities=(*MODERN, Capability.GPU_RESOURCES)))
    world.register("cpus:4;mem:64;gpus:1")
    assert plain.take_offers() == []
    assert len(gpu.take_offers()) == 1
    shown = World(flags(filter_gpu_resources=False))
    other = shown.subscribe()
    shown.register("cpus:4;mem:64;gpus:1")
    assert len(other.take_offers()) == 1


def test_too_little_is_not_offered_unless_the_framework_asks_for_less() -> None:
    world = World()
    plain = world.subscribe()
    world.register("cpus:0.005;mem:31")
    assert plain.take_offers() == []
    modest = framework_info()
    quantities = modest.offer_filters["*"].min_allocatable_resources.quantities.add()
    quantities.quantities["mem"].value = 1.0
    framework = world.subscribe(modest)
    assert len(framework.take_offers()) == 1


def test_two_frameworks_share_two_agents_evenly() -> None:
    world = World()
    first, second = world.subscribe(), world.subscribe()
    world.register("cpus:4;mem:64", port=1)
    world.register("cpus:4;mem:64", port=2)
    assert (len(first.take_offers()), len(second.take_offers())) == (1, 1)


def test_a_role_with_twice_the_weight_gets_two_of_three_agents() -> None:
    world = World(flags(weights=(("heavy", 2.0),)))
    heavy = world.subscribe(framework_info(role="heavy"))
    light = world.subscribe(framework_info(role="light"))
    for port in range(6):
        world.register("cpus:4;mem:64", port=port + 1)
    assert (len(heavy.take_offers()), len(light.take_offers())) == (4, 2)


def test_reserved_resources_go_to_their_role_and_its_children_only() -> None:
    world = World()
    child = world.subscribe(framework_info(role="eng/dev"))
    other = world.subscribe(framework_info(role="ops"))
    world.register("cpus(eng):2;mem(eng):64")
    assert len(child.take_offers()) == 1
    assert other.take_offers() == []


def test_an_offer_times_out_with_a_rescind() -> None:
    world = World(flags(offer_timeout=30.0))
    world.register()
    framework = world.subscribe()
    [offer] = framework.take_offers()
    world.wait(30.5)
    rescinded = [event.rescind.offer_id for event in framework.take() if event.type == Event.RESCIND]
    assert rescinded == [offer.id]


def test_the_second_subscription_wins_and_the_first_is_told() -> None:
    world = World()
    world.register()
    first = world.subscribe()
    [old] = first.take_offers()
    second = world.subscribe(framework_info(id=first.id))
    [error] = first.take()
    assert error.error.message == "Framework failed over"
    assert first.stream_id in world.ended
    [new] = second.take_offers()
    assert new.id != old.id
    assert second.id == first.id


def test_a_framework_that_goes_away_without_failover_timeout_is_removed_and_shut_down() -> None:
    world = World()
    agent = world.register()
    framework = world.subscribe()
    framework_id = framework.id
    framework.break_stream()
    assert [message.framework_id.value for message in agent.take(internal_pb2.ShutdownFrameworkMessage)] == [
        framework_id
    ]
    again = world.subscribe(framework_info(id=framework_id))
    [error] = again.take()
    assert error.error.message == "Framework has been removed"
    assert again.stream_id in world.ended


def test_a_framework_with_failover_timeout_may_come_back_in_time() -> None:
    world = World()
    agent = world.register()
    framework = world.subscribe(framework_info(failover_timeout=60.0))
    framework_id = framework.id
    framework.break_stream()
    world.wait(59)
    back = world.subscribe(framework_info(id=framework_id, failover_timeout=60.0))
    assert kinds(back.take()) == ["SUBSCRIBED", "HEARTBEAT", "OFFERS"]
    assert len(agent.take(internal_pb2.UpdateFrameworkMessage)) == 1
    back.break_stream()
    world.wait(61)
    assert framework_id in world.core.books.completed_frameworks


def test_the_end_of_an_old_stream_does_not_disturb_the_new_one() -> None:
    world = World()
    first = world.subscribe()
    second = world.subscribe(framework_info(id=first.id))
    first.break_stream()
    assert world.core.books.frameworks[second.id].is_connected


def test_teardown_ends_the_stream_and_the_tasks() -> None:
    world = World()
    agent = world.register()
    framework = world.subscribe()
    offers = framework.take_offers()
    framework.accept(offers, [task("t", offers[0])])
    framework.take()
    framework_id = framework.id
    framework.call("TEARDOWN")
    assert framework.take() == []
    assert framework.stream_id in world.ended
    [ended] = world.core.books.completed_frameworks[framework_id].completed
    assert ended.message.state == mesos_pb2.TASK_KILLED
    assert ended.message.statuses[-1].message == f"Framework {framework_id} removed"
    assert len(agent.take(internal_pb2.ShutdownFrameworkMessage)) == 1


def test_an_update_takes_roles_away_and_rescinds_their_offers() -> None:
    world = World()
    world.register()
    info = framework_info(capabilities=(*MODERN, Capability.MULTI_ROLE), roles=["a"])
    framework = world.subscribe(info)
    assert len(framework.take_offers()) == 1
    info.id.value = framework.id
    info.roles[:] = ["b"]
    framework.call("UPDATE_FRAMEWORK", framework_info=info)
    assert world.answers[-1].status == 200
    assert kinds(framework.take()) == ["RESCIND", "OFFERS"]


def test_an_illegal_step_is_a_fault_of_ours_and_says_how_it_came() -> None:
    world = World()
    framework = world.core.books.frameworks[world.subscribe().id]
    framework.life.step(FrameworkState.REMOVED)
    with pytest.raises(IllegalStep, match="connected → removed"):
        framework.life.step(FrameworkState.CONNECTED)
