"""What a scheduler client may count on, at every master there is: the fake, a stock Apache Mesos, ours."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.client.fake_master import FakeMaster
from tests.client.proxy import Proxy
from tfmesos.client import CallRejected, NotSubscribed, SchedulerClient
from tfmesos.discovery import build_detector
from tfmesos.flags import load_flags
from tfmesos.master import Master, MasterFlags
from tfmesos.wire import mesos_pb2, scheduler_pb2

Event = scheduler_pb2.Event
Call = scheduler_pb2.Call


@pytest.fixture(params=["fake", "ours", pytest.param("stock", marks=pytest.mark.stock)])
async def master(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    """The address of a master without agents."""
    if request.param == "stock":
        yield request.getfixturevalue("stock_master").address
        return
    started: FakeMaster | Master
    if request.param == "fake":
        started = FakeMaster()
    else:
        started = Master(load_flags(MasterFlags, ["--ip=127.0.0.1", "--port=0", f"--work_dir={tmp_path}"], None))
    await started.start()
    yield str(started.address)
    await started.close()


@pytest.fixture
async def network(master: str) -> AsyncIterator[Proxy]:
    proxy = Proxy(master)
    await proxy.start()
    yield proxy
    await proxy.close()


def framework_info(**fields: object) -> mesos_pb2.FrameworkInfo:
    info = mesos_pb2.FrameworkInfo(user="root", name="contract", failover_timeout=60.0)
    info.capabilities.add(type=mesos_pb2.FrameworkInfo.Capability.MULTI_ROLE)
    for name, value in fields.items():
        if name == "roles":
            assert isinstance(value, tuple)
            info.roles.extend(value)
        else:
            info.id.value = str(value)
    return info


def client_of(address: str, **fields: object) -> SchedulerClient:
    return SchedulerClient(build_detector(address), framework_info(**fields), connect_timeout_s=10)


async def next_event(client: SchedulerClient) -> Event:
    async with asyncio.timeout(10):
        return await anext(client)


async def wait_subscribed(client: SchedulerClient) -> Event:
    event = await next_event(client)
    assert event.type == Event.SUBSCRIBED
    return event


async def test_subscribes_and_swallows_heartbeats(master: str) -> None:
    async with client_of(master) as client:
        event = await wait_subscribed(client)
        assert event.subscribed.framework_id.value == client.framework_id
        assert event.subscribed.heartbeat_interval_seconds == 15
        assert client.is_subscribed
        assert client.local_host == "127.0.0.1"
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(client), 0.05)
        await client.teardown()


async def test_two_clients_at_once_are_two_frameworks(master: str) -> None:
    async with client_of(master) as one, client_of(master) as two:
        await wait_subscribed(one)
        await wait_subscribed(two)
        assert one.framework_id != two.framework_id
        await one.teardown()
        await two.revive()
        await two.teardown()


async def test_every_call_is_accepted_in_any_number_at_once(master: str) -> None:
    async with client_of(master, roles=("ml",)) as client:
        await wait_subscribed(client)
        async with asyncio.TaskGroup() as calls:
            for _ in range(50):
                calls.create_task(client.suppress())
                calls.create_task(client.revive(["ml"]))
                calls.create_task(client.reconcile())
                calls.create_task(client.kill(mesos_pb2.TaskID(value="never-was"), grace_s=1.5))
                calls.create_task(client.decline([mesos_pb2.OfferID(value="none")], refuse_s=1))
        await client.teardown()


async def test_updates_made_by_the_master_are_not_acknowledged(master: str) -> None:
    async with client_of(master) as client:
        await wait_subscribed(client)
        unknown = mesos_pb2.TaskID(value="never-was")
        await client.reconcile([(unknown, mesos_pb2.AgentID(value="never-was"))])
        while (event := await next_event(client)).type != Event.UPDATE or event.update.status.task_id != unknown:
            pass
        assert event.update.status.state == mesos_pb2.TASK_LOST
        assert not event.update.status.uuid
        await client.acknowledge(event.update.status)  # would be refused: an acknowledgement needs a uuid
        await client.teardown()


async def test_the_text_of_a_refused_call_is_shown_as_it_is(master: str) -> None:
    async with client_of(master) as client:
        await wait_subscribed(client)
        with pytest.raises(CallRejected) as caught:
            await client.call(Call(type=Call.KILL))
        text = "Failed to validate scheduler::Call: Expecting 'kill' to be present"
        assert (caught.value.status, caught.value.body) == (400, text)
        assert str(caught.value) == f"KILL refused (400): {text}"
        await client.teardown()


async def test_an_invalid_framework_gets_an_error_event_and_the_iteration_ends(master: str) -> None:
    async with client_of(master, roles=("..",)) as client:
        assert (await next_event(client)).type == Event.ERROR
        with pytest.raises(StopAsyncIteration):
            await next_event(client)


async def test_a_framework_that_is_taken_over_gets_an_error_event(master: str) -> None:
    async with client_of(master) as old:
        await wait_subscribed(old)
        async with client_of(master, id=old.framework_id) as new:
            await wait_subscribed(new)
            assert new.framework_id == old.framework_id
            event = await next_event(old)
            assert (event.type, event.error.message) == (Event.ERROR, "Framework failed over")
            with pytest.raises(StopAsyncIteration):
                await next_event(old)
            with pytest.raises(NotSubscribed):
                await old.revive()
            await new.teardown()


async def test_teardown_ends_the_iteration_and_the_framework(master: str) -> None:
    async with client_of(master) as client:
        await wait_subscribed(client)
        await client.teardown()
        with pytest.raises(StopAsyncIteration):
            await next_event(client)
    async with client_of(master, id=client.framework_id) as late:
        event = await next_event(late)
        assert (event.type, event.error.message) == (Event.ERROR, "Framework has been removed")


async def test_a_lost_connection_is_made_again_with_the_same_framework_id(network: Proxy) -> None:
    async with client_of(network.address) as client:
        await wait_subscribed(client)
        first = client.framework_id
        network.cut()
        waiting = asyncio.create_task(client.revive())
        event = await wait_subscribed(client)
        assert event.subscribed.framework_id.value == first
        await waiting
        await client.teardown()


async def test_calls_about_offers_do_not_outlive_their_subscription(network: Proxy) -> None:
    async with client_of(network.address) as client:
        await wait_subscribed(client)
        await client.revive()
        network.cut()
        with pytest.raises(NotSubscribed, match="ACCEPT not sent or not answered: the subscription was lost"):
            await client.accept([mesos_pb2.OfferID(value="old")], [])
        await wait_subscribed(client)
        await client.teardown()
