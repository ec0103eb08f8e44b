"""Agents that return with what no agent of this protocol can have."""

import pytest

from tests.master.world import Agent, World, framework_info
from tfmesos.resources import Resources
from tfmesos.transport import Pid
from tfmesos.wire import mesos_pb2


@pytest.mark.parametrize("agent_id", ["", "..", "../../etc", "a\nb"])
def test_an_agent_that_returns_with_an_impossible_id_is_ignored(agent_id: str) -> None:
    world = World()
    stranger = Agent(world, Pid("slave(1)", "127.0.0.1", 6000), "cpus:1")
    stranger.id = agent_id

    stranger.reregister()

    assert not world.core.books.agents


@pytest.mark.parametrize("ids", [("..", "f"), ("t", "a/b"), ("", "f")])
def test_an_agent_that_brings_tasks_with_impossible_ids_is_ignored(ids: tuple[str, str]) -> None:
    world = World()
    stranger = Agent(world, Pid("slave(1)", "127.0.0.1", 6000), "cpus:1")
    stranger.id = "elsewhere-S0"
    task = mesos_pb2.Task(name="t", state=mesos_pb2.TASK_RUNNING)
    task.task_id.value, task.framework_id.value = ids
    task.agent_id.value = stranger.id

    stranger.reregister([task])

    assert not world.core.books.agents


def test_an_agent_that_reserves_for_an_endless_role_is_ignored() -> None:
    world = World()
    stranger = Agent(world, Pid("slave(1)", "127.0.0.1", 6000), f"cpus({'a/' * 1000}a):1")
    stranger.register()
    assert not world.core.books.agents


@pytest.mark.parametrize("is_framework", [True, False])
def test_an_agent_that_brings_something_of_an_endless_role_is_ignored(is_framework: bool) -> None:
    world = World()
    stranger = Agent(world, Pid("slave(1)", "127.0.0.1", 6000), "cpus:1")
    stranger.id = "elsewhere-S0"
    role = "a/" * 1000 + "a"
    info = framework_info(id="f", role=role if is_framework else "*")
    task = mesos_pb2.Task(name="t", state=mesos_pb2.TASK_RUNNING)
    task.task_id.value, task.framework_id.value, task.agent_id.value = "t", "f", stranger.id
    task.resources.extend(Resources.parse("cpus:1").to_proto(role="*" if is_framework else role))
    stranger.reregister([task], [info])
    assert not world.core.books.agents
    assert not world.core.books.frameworks
