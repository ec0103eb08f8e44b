"""A task group of a checkpointing framework over a kill -9 of its agent."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.daemons import Cluster
from tests.executors.conftest import framework_on
from tfmesos.wire import mesos_pb2

DEFAULT = mesos_pb2.ExecutorInfo.DEFAULT


@pytest.fixture
def daemons(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path, f"GROUP_MARK={uuid.uuid4().hex}")
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


async def test_a_group_goes_on_and_its_ends_are_told(daemons: Cluster, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    async with framework_on(daemons.address, checkpoint=True) as framework:
        tasks = [framework.task("a", f"while ! test -e {gate}; do sleep 0.05; done"), framework.task("b", "sleep 1000")]
        await framework.launch_groups(framework.executor("group-1", DEFAULT), tasks)
        seen = await framework.told(4)
        assert sorted(seen[2:]) == ["a TASK_RUNNING", "b TASK_RUNNING"]

        daemons.agent.kill()
        gate.touch()
        daemons.agent.start()

        assert await framework.told() == ["a TASK_FINISHED Command exited with status 0"]
        await framework.client.kill(mesos_pb2.TaskID(value="b"))
        assert await framework.told(2) == [
            "b TASK_KILLING",
            "b TASK_KILLED Command terminated with signal Terminated",
        ]
