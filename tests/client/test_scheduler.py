"""What a stock master does not do on demand: redirects, silence, refusals, floods; by the fake master."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from tests.client.fake_master import FakeMaster, Framework
from tests.client.proxy import Proxy
from tfmesos.client import MasterUnreachable, NotSubscribed, SchedulerClient, SubscriptionRejected
from tfmesos.discovery import build_detector
from tfmesos.wire import mesos_pb2, scheduler_pb2
from tfmesos.wire.json_codec import message_to_dict

Event = scheduler_pb2.Event
Call = scheduler_pb2.Call
INFO = mesos_pb2.FrameworkInfo(user="root", name="test")


@pytest.fixture
async def fake() -> AsyncIterator[FakeMaster]:
    fake = FakeMaster()
    await fake.start()
    yield fake
    await fake.close()


def client_of(address: str, connect_timeout_s: float | None = 10) -> SchedulerClient:
    return SchedulerClient(build_detector(address), INFO, connect_timeout_s=connect_timeout_s)


async def subscribed(fake: FakeMaster, client: SchedulerClient) -> Framework:
    async with asyncio.timeout(10):
        assert (await anext(client)).type == Event.SUBSCRIBED
        return await fake.subscribed.get()


def offers(name: str) -> Event:
    event = Event(type=Event.OFFERS)
    event.offers.offers.add(
        id=mesos_pb2.OfferID(value=name),
        framework_id=mesos_pb2.FrameworkID(value="f"),
        agent_id=mesos_pb2.AgentID(value="a"),
        hostname="h",
    )
    return event


async def test_an_event_is_handled_at_once_though_silence_follows(fake: FakeMaster) -> None:
    async with client_of(fake.address) as client:
        framework = await subscribed(fake, client)
        framework.send(offers("one"))
        async with asyncio.timeout(fake.heartbeat_s / 2):
            event = await anext(client)
        assert event.offers.offers[0].id.value == "one"


async def test_an_inverse_offer_is_yielded_as_it_is(fake: FakeMaster) -> None:
    event = Event(type=Event.INVERSE_OFFERS)
    wish = event.inverse_offers.inverse_offers.add(
        id=mesos_pb2.OfferID(value="wish"),
        framework_id=mesos_pb2.FrameworkID(value="f"),
        agent_id=mesos_pb2.AgentID(value="a"),
    )
    wish.unavailability.start.nanoseconds = 7
    rescind = Event(type=Event.RESCIND_INVERSE_OFFER)
    rescind.rescind_inverse_offer.inverse_offer_id.value = "wish"
    async with client_of(fake.address) as client:
        framework = await subscribed(fake, client)
        framework.send(event)
        framework.send(rescind)
        async with asyncio.timeout(10):
            assert await anext(client) == event
            assert await anext(client) == rescind


async def test_inverse_offers_are_answered_under_the_keys_of_mesos(fake: FakeMaster) -> None:
    """Mesos 1.11, v1 scheduler.proto: calls 13 and 14, each with `inverse_offer_ids` and `filters`."""
    wishes = [mesos_pb2.OfferID(value="wish")]
    filters = mesos_pb2.Filters(refuse_seconds=3)
    accept = Call.AcceptInverseOffers(inverse_offer_ids=wishes, filters=filters)
    decline = Call.DeclineInverseOffers(inverse_offer_ids=wishes, filters=filters)
    async with client_of(fake.address) as client:
        await subscribed(fake, client)
        await client.call(Call(type=Call.ACCEPT_INVERSE_OFFERS, accept_inverse_offers=accept))
        await client.call(Call(type=Call.DECLINE_INVERSE_OFFERS, decline_inverse_offers=decline))

    answer = {"inverse_offer_ids": [{"value": "wish"}], "filters": {"refuse_seconds": 3.0}}
    common = {"framework_id": {"value": client.framework_id}}
    assert [message_to_dict(call) for call in fake.calls] == [
        {**common, "type": "ACCEPT_INVERSE_OFFERS", "accept_inverse_offers": answer},
        {**common, "type": "DECLINE_INVERSE_OFFERS", "decline_inverse_offers": answer},
    ]
    assert [call.type for call in fake.calls] == [13, 14]
    assert [[field.number for field, _ in call.ListFields()] for call in fake.calls] == [[1, 2, 13], [1, 2, 14]]


async def test_an_answer_to_an_inverse_offer_is_void_with_its_subscription(fake: FakeMaster) -> None:
    async with client_of(fake.address) as client:
        assert not client.is_subscribed
        for kind in (Call.ACCEPT_INVERSE_OFFERS, Call.DECLINE_INVERSE_OFFERS):
            with pytest.raises(NotSubscribed, match=Call.Type.Name(kind)):
                await client.call(Call(type=kind))


async def test_redirects_without_a_scheme_are_followed_and_keep_the_stream_id(
    fake: FakeMaster,
) -> None:
    there = f"//{fake.address}/master/api/v1/scheduler"
    fake.answers.extend([(307, "", {"Location": there})] * 2)
    async with client_of(fake.address) as client:
        framework = await subscribed(fake, client)
        assert fake.paths == ["/api/v1/scheduler", "/master/api/v1/scheduler", "/master/api/v1/scheduler"]
        fake.answers.append((307, "", {"Location": there}))
        await client.revive()
        assert fake.stream_ids == [None] * 3 + [framework.stream_id] * 2
        assert [call.type for call in fake.calls] == [Call.REVIVE]


async def test_a_silent_network_is_noticed_by_missed_heartbeats() -> None:
    fake = FakeMaster(heartbeat_s=0.02)
    await fake.start()
    network = Proxy(fake.address)
    await network.start()
    async with client_of(network.address) as client:
        first = await subscribed(fake, client)
        network.freeze()
        again = await subscribed(fake, client)
        assert again.id == first.id
    await network.close()
    await fake.close()


async def test_a_master_without_a_leader_is_asked_until_it_has_one(fake: FakeMaster) -> None:
    fake.answers.extend([(503, "No leader elected", {}), (404, "", {})])
    async with client_of(fake.address) as client:
        await subscribed(fake, client)


async def test_a_refused_subscription_raises_the_masters_text(fake: FakeMaster) -> None:
    fake.answers.append((401, "401 Unauthorized.", {}))
    async with client_of(fake.address) as client:
        with pytest.raises(SubscriptionRejected, match=r"refused the subscription \(401\): 401 Unauthorized."):
            await anext(client)
        with pytest.raises(NotSubscribed):
            await client.revive()


async def test_nobody_there_is_unreachable_after_the_time_given(fake: FakeMaster) -> None:
    address = fake.address
    await fake.close()
    with pytest.raises(MasterUnreachable, match=f"no master reached at {address}: .*connection refused") as caught:
        async with client_of(address, connect_timeout_s=0.3) as client:
            await anext(client)
    assert caught.value.exit_status == 69


async def test_a_name_that_does_not_resolve_is_unreachable() -> None:
    async with client_of("no-such-host.invalid:5050", connect_timeout_s=0.3) as client:
        with pytest.raises(MasterUnreachable, match=r"no-such-host\.invalid:5050"):
            await anext(client)


async def test_a_master_that_comes_late_is_found(fake: FakeMaster) -> None:
    network = Proxy(fake.address)
    await network.start()
    port = network.port
    await network.close()
    async with client_of(f"127.0.0.1:{port}") as client:
        waiting = asyncio.create_task(client.revive())
        async with asyncio.timeout(10):
            while "refused" not in client.trouble:  # noqa: ASYNC110  # nobody tells
                await asyncio.sleep(0)
        network = Proxy(fake.address)
        await network.start(port)
        await subscribed(fake, client)
        await waiting
    await network.close()


async def test_bytes_that_are_no_records_are_a_lost_stream(fake: FakeMaster) -> None:
    async with client_of(fake.address) as client:
        framework = await subscribed(fake, client)
        framework.stream.send(b"not a length\n")
        await subscribed(fake, client)


async def test_a_user_who_does_not_read_makes_the_master_wait_and_loses_nothing(fake: FakeMaster) -> None:
    async with client_of(fake.address) as client:
        framework = await subscribed(fake, client)
        for number in range(5000):
            framework.send(offers(str(number) * 50))
        framework.send(offers("last"))
        for number in range(5000):
            assert (await anext(client)).offers.offers[0].id.value == str(number) * 50
        assert (await anext(client)).offers.offers[0].id.value == "last"


async def test_calls_wait_for_the_subscription_and_end_with_the_client(fake: FakeMaster) -> None:
    fake.answers.extend([(503, "No leader elected", {})] * 100)
    async with client_of(fake.address) as client:
        waiting = asyncio.create_task(client.revive())
        with pytest.raises(NotSubscribed):
            await client.decline([])
        async with asyncio.timeout(10):
            while len(fake.answers) == 100:  # noqa: ASYNC110  # nobody tells
                await asyncio.sleep(0)
        assert not waiting.done()
    with pytest.raises(NotSubscribed, match="REVIVE not sent or not answered"):
        await waiting


async def test_a_status_with_a_uuid_is_acknowledged(fake: FakeMaster) -> None:
    async with client_of(fake.address) as client:
        await subscribed(fake, client)
        status = mesos_pb2.TaskStatus(
            task_id=mesos_pb2.TaskID(value="t"), state=mesos_pb2.TASK_RUNNING, agent_id=mesos_pb2.AgentID(value="a")
        )
        await client.acknowledge(status)
        status.uuid = b"u" * 16
        await client.acknowledge(status)
        (call,) = fake.calls
        assert (call.acknowledge.task_id.value, call.acknowledge.agent_id.value) == ("t", "a")
        assert call.acknowledge.uuid == b"u" * 16
        assert call.framework_id.value == client.framework_id


async def test_an_error_in_the_users_block_comes_out_as_it_is(fake: FakeMaster) -> None:
    async def use() -> None:
        async with client_of(fake.address) as client:
            await subscribed(fake, client)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await use()


async def test_a_cancelled_user_leaves_nothing_running(fake: FakeMaster) -> None:
    async def use() -> None:
        async with client_of(fake.address) as client:
            async for _ in client:
                pass

    user = asyncio.create_task(use())
    await fake.subscribed.get()
    user.cancel()
    with pytest.raises(asyncio.CancelledError):
        await user


def test_the_client_is_light_to_import() -> None:
    code = "import tfmesos.client, sys; sys.exit('aiohttp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
