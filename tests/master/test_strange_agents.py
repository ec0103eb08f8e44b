"""Agents that return with what no agent of this protocol can have."""

import pytest

from tests.master.world import Agent, World
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
