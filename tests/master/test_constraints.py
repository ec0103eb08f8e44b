"""Offer constraints: of which agents a framework wants offers."""

from __future__ import annotations

import pytest
from google.protobuf import text_format

from tests.master.drivers import Driver
from tests.master.world import Agent, Framework, World, framework_info
from tfmesos.master.core.events import DriverCalled, Subscribed
from tfmesos.master.ids import StreamId
from tfmesos.transport import Pid
from tfmesos.wire import scheduler_pb2

RACK = 'selector { attribute_name: "rack" }'


def constraints(*groups: str) -> scheduler_pb2.OfferConstraints:
    found = scheduler_pb2.OfferConstraints()
    role = found.role_constraints["*"]
    for group in groups:
        text_format.Parse(group, role.groups.add())
    return found


def subscribe(world: World, wanted: scheduler_pb2.OfferConstraints) -> Framework:
    call = scheduler_pb2.Call.Subscribe(framework_info=framework_info(), offer_constraints=wanted)
    world.do(Subscribed(StreamId("s"), call))
    return Framework(world, StreamId("s"))


def register(world: World, port: int, attributes: str) -> Agent:
    agent = Agent(world, Pid("slave(1)", "127.0.0.1", port), "cpus:1;mem:100")
    agent.attributes = attributes
    agent.register()
    return agent


@pytest.mark.parametrize(
    ("groups", "wanted"),
    [
        ([f"attribute_constraints {{ {RACK} predicate {{ exists {{}} }} }}"], "abn"),
        ([f"attribute_constraints {{ {RACK} predicate {{ not_exists {{}} }} }}"], "-"),
        ([f'attribute_constraints {{ {RACK} predicate {{ text_equals {{ value: "a" }} }} }}'], "an"),
        ([f'attribute_constraints {{ {RACK} predicate {{ text_not_equals {{ value: "a" }} }} }}'], "bn-"),
        (
            [
                f'attribute_constraints {{ {RACK} predicate {{ text_equals {{ value: "{rack}" }} }} }}'
                f"attribute_constraints {{ selector {{ pseudoattribute_type: HOSTNAME }} predicate {{ exists {{}} }} }}"
                for rack in "ab"
            ],
            "abn",
        ),
        (["attribute_constraints { selector { pseudoattribute_type: ZONE } predicate { exists {} } }"], ""),
    ],
)
def test_only_wanted_agents_are_offered(groups: list[str], wanted: str) -> None:
    world = World()
    framework = subscribe(world, constraints(*groups))
    agents = {name: register(world, 6000 + n, f"rack:{name}") for n, name in enumerate("ab")}
    agents["n"] = register(world, 6010, "rack:7")
    agents["-"] = register(world, 6011, "")
    offered = {offer.agent_id.value for offer in framework.take_offers()}
    assert {name for name, agent in agents.items() if agent.id in offered} == set(wanted)


@pytest.mark.parametrize(
    ("group", "text"),
    [
        ("", "a group needs at least one constraint"),
        ("attribute_constraints { selector {} predicate { exists {} } }", "'selector' needs"),
        (f"attribute_constraints {{ {RACK} predicate {{}} }}", "'predicate' needs one of exists"),
        (f'attribute_constraints {{ {RACK} predicate {{ text_matches {{ regex: "." }} }} }}', "is not supported"),
    ],
)
def test_constraints_that_cannot_be_obeyed_are_refused(group: str, text: str) -> None:
    [error] = subscribe(World(), constraints(group)).take()
    assert error.error.message.startswith("Offer constraints for role '*' are invalid: ")
    assert text in error.error.message


def test_an_update_replaces_them() -> None:
    world = World()
    framework = subscribe(world, constraints(f"attribute_constraints {{ {RACK} predicate {{ exists {{}} }} }}"))
    register(world, 6000, "")
    world.wait(1.0)
    assert framework.take_offers() == []
    info = framework_info(id=framework.id)
    framework.call("UPDATE_FRAMEWORK", framework_info=info)
    assert framework.take_offers()


def test_what_a_driver_wants_outlives_the_master() -> None:
    world = World()
    driver = Driver(world, 7001)
    call = scheduler_pb2.Call(type=scheduler_pb2.Call.SUBSCRIBE)
    call.subscribe.framework_info.CopyFrom(framework_info())
    wanted = constraints(f'attribute_constraints {{ {RACK} predicate {{ text_equals {{ value: "a" }} }} }}')
    call.subscribe.offer_constraints.CopyFrom(wanted)
    world.do(DriverCalled(driver.pid, call, is_forced=False))
    driver.world = world.restarted()
    register(driver.world, 6001, "rack:b")
    assert not driver.offers()
    register(driver.world, 6002, "rack:a")
    assert driver.offers()
