"""A framework that vanishes, and a master that does: who keeps the tasks, who comes back, what of a kill in between.

Both daemons are programs; the framework is our scheduler client.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.chaos.daemons import Cluster
from tfmesos.client import SchedulerClient
from tfmesos.discovery import build_detector
from tfmesos.wire import mesos_pb2, scheduler_pb2
from tfmesos.wire.text import state_name

PATIENCE_S = 30.0
NOTICED_S = 15.0
"""Within this a restarted master has its frameworks back."""

Event = scheduler_pb2.Event
Operation = mesos_pb2.Offer.Operation


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path, f"TFMESOS_TEST_VANISH={os.getpid()}")
    cluster.start()
    yield cluster
    cluster.stop()


def framework_info(failover_timeout: float, framework_id: str = "") -> mesos_pb2.FrameworkInfo:
    info = mesos_pb2.FrameworkInfo(
        user="root",
        name="vanishes",
        failover_timeout=failover_timeout,
        checkpoint=True,
        roles=["*"],
        capabilities=[mesos_pb2.FrameworkInfo.Capability(type=mesos_pb2.FrameworkInfo.Capability.MULTI_ROLE)],
    )
    if framework_id:
        info.id.value = framework_id
    return info


@asynccontextmanager
async def subscribed(cluster: Cluster, info: mesos_pb2.FrameworkInfo) -> AsyncIterator[SchedulerClient]:
    async with SchedulerClient(build_detector(cluster.address), info) as client, asyncio.timeout(PATIENCE_S):
        await event_of(client, Event.SUBSCRIBED)
        yield client


async def event_of(client: SchedulerClient, kind: Event.Type.ValueType) -> Event:
    async for event in client:
        if event.type == kind:
            return event
    raise AssertionError("the stream has ended")


async def state_of_next(client: SchedulerClient) -> str:
    status = (await event_of(client, Event.UPDATE)).update.status
    await client.acknowledge(status)
    return state_name(status.state)


async def run_task(client: SchedulerClient) -> mesos_pb2.TaskInfo:
    """A task that does not end by itself, running."""
    offer = (await event_of(client, Event.OFFERS)).offers.offers[0]
    task = mesos_pb2.TaskInfo(name="t", task_id=mesos_pb2.TaskID(value="t"), agent_id=offer.agent_id)
    task.command.value = "sleep 1000"
    for name, amount in (("cpus", 0.1), ("mem", 32)):
        scalar = mesos_pb2.Value.Scalar(value=amount)
        task.resources.append(mesos_pb2.Resource(name=name, type=mesos_pb2.Value.SCALAR, scalar=scalar))
    launch = Operation.Launch(task_infos=[task])
    await client.accept([offer.id], [Operation(type=Operation.LAUNCH, launch=launch)])
    while await state_of_next(client) != "TASK_RUNNING":
        pass
    return task


async def test_without_a_failover_timeout_its_tasks_end_with_it(cluster: Cluster) -> None:
    async with subscribed(cluster, framework_info(0.0)) as client:
        await run_task(client)

    await asyncio.to_thread(cluster.agent.expect, "has nothing here any more")


async def test_within_its_failover_timeout_it_finds_its_tasks_again(cluster: Cluster) -> None:
    async with subscribed(cluster, framework_info(300.0)) as client:
        task = await run_task(client)
        framework_id = client.framework_id or ""

    async with subscribed(cluster, framework_info(300.0, framework_id)) as client:
        await client.reconcile()
        reconciled = await state_of_next(client)
        await client.kill(task.task_id, task.agent_id)
        killed = await state_of_next(client)

    assert (reconciled, killed) == ("TASK_RUNNING", "TASK_KILLED")


async def test_an_ended_framework_is_refused_by_its_id(cluster: Cluster) -> None:
    async with subscribed(cluster, framework_info(300.0)) as client:
        framework_id = client.framework_id or ""
        await client.teardown()

    info = framework_info(300.0, framework_id)
    async with SchedulerClient(build_detector(cluster.address), info) as client, asyncio.timeout(PATIENCE_S):
        error = (await event_of(client, Event.ERROR)).error.message

    assert error == "Framework has been removed"


async def test_a_kill_while_the_master_is_away_is_done_when_it_is_back(cluster: Cluster) -> None:
    async with subscribed(cluster, framework_info(300.0)) as client:
        task = await run_task(client)
        cluster.master.kill()
        killing = asyncio.create_task(client.kill(task.task_id, task.agent_id))

        cluster.master.start()
        async with asyncio.timeout(NOTICED_S):
            again = await event_of(client, Event.SUBSCRIBED)
        await killing
        while (state := await state_of_next(client)) == "TASK_RUNNING":  # the agent came back after the kill
            await client.kill(task.task_id, task.agent_id)

    assert again.subscribed.framework_id.value == client.framework_id
    assert state == "TASK_KILLED"
