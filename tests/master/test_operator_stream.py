"""SUBSCRIBE of the operator API: what watchers are told, in which order, and what becomes of those who do not read."""

from __future__ import annotations

import asyncio
import gc
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.master.conftest import Recorded
from tests.master.peers import JSON, Agent, Client, Scheduler, launch
from tfmesos.master import Master, MasterFlags
from tfmesos.master.http.operator_streams import STREAM_LIMIT
from tfmesos.transport import HttpConnection, HttpStream, TcpAddress
from tfmesos.wire import RecordDecoder, internal_pb2, master_pb2, mesos_pb2

RUNNING, FINISHED = mesos_pb2.TASK_RUNNING, mesos_pb2.TASK_FINISHED
PROTOBUF = {"Accept": "application/x-protobuf"}
SUBSCRIBE = b'{"type":"SUBSCRIBE"}'


class Watcher:
    """An operator that watches events as JSON, or as protobuf shown as JSON is not."""

    def __init__(self, connection: HttpConnection, stream: HttpStream) -> None:
        self.connection = connection
        self.stream = stream
        self._records = RecordDecoder()
        self._waiting: list[bytes] = []

    @classmethod
    @asynccontextmanager
    async def subscribed(cls, client: Client, **headers: str) -> AsyncIterator[Watcher]:
        async with await HttpConnection.open(client.address) as connection:
            stream = await connection.stream("POST", "/api/v1", JSON | headers, SUBSCRIBE)
            assert stream.status == 200
            yield cls(connection, stream)

    async def record(self) -> bytes:
        while not self._waiting:
            chunk = await asyncio.wait_for(anext(self.stream.__aiter__()), 10)
            self._waiting += self._records.feed(chunk)
        return self._waiting.pop(0)

    async def event(self) -> Any:
        """The next event that is no heartbeat."""
        while (event := json.loads(await self.record()))["type"] == "HEARTBEAT":
            pass
        return event

    async def kinds(self, number: int) -> list[str]:
        return [(await self.event())["type"] for _ in range(number)]


async def test_a_watcher_gets_the_state_then_a_heartbeat_then_all_that_follows(
    master: Master, client: Client, recorded: Recorded
) -> None:
    async with Watcher.subscribed(client) as watcher:
        first, second = json.loads(await watcher.record()), json.loads(await watcher.record())
        assert first["subscribed"]["heartbeat_interval_seconds"] == 15.0
        assert keys(first) <= keys(recorded.json("operator", 13))
        assert second == {"type": "HEARTBEAT"}
        assert watcher.stream.headers["content-type"] == "application/json"
        async with Agent.running(master) as agent, Scheduler.subscribed(client) as scheduler:
            assert await watcher.kinds(2) == ["AGENT_ADDED", "FRAMEWORK_ADDED"]
            offer = (await scheduler.event("OFFERS"))["offers"]["offers"][0]
            await scheduler.call("ACCEPT", accept=launch("t", offer))
            run = await agent.heard(internal_pb2.RunTaskMessage)
            added = await watcher.event()
            assert added["task_added"]["task"]["state"] == "TASK_STAGING"
            for state in (RUNNING, RUNNING, FINISHED):  # the second changes nothing, and is not told
                agent.update(run, state)
                await scheduler.event("UPDATE")
            updates = [(await watcher.event())["task_updated"] for _ in range(2)]
            assert [update["state"] for update in updates] == ["TASK_RUNNING", "TASK_FINISHED"]
            assert updates[0]["status"]["uuid"]
            assert updates[0]["framework_id"]["value"] == scheduler.framework_id
            agent.say(internal_pb2.UnregisterSlaveMessage(slave_id=mesos_pb2.AgentID(value=agent.id)))
            assert (await watcher.event())["agent_removed"]["agent_id"]["value"] == agent.id
            scheduler.subscription.abort()
            removed = await watcher.event()
            assert removed["framework_removed"]["framework_info"]["name"] == "test"


@pytest.mark.parametrize(
    ("session", "number", "kind"), [("operator-agents", 12, "AGENT_ADDED"), ("operator", 23, "FRAMEWORK_ADDED")]
)
async def test_events_have_the_fields_of_recorded_ones(
    master: Master, client: Client, recorded: Recorded, session: str, number: int, kind: str
) -> None:
    info = {"capabilities": [{"type": "MULTI_ROLE"}], "roles": ["*"], "hostname": "h", "webui_url": "u"}
    info |= {"labels": {"labels": [{"key": "k", "value": "v"}]}}
    resources = "cpus:4;mem:4096;disk:1024;ports:[31000-32000]"
    async with (
        Watcher.subscribed(client) as watcher,
        Agent.running(master, resources),
        Scheduler.subscribed(client, **info),
    ):
        await watcher.event()
        events = {event["type"]: event for event in [await watcher.event(), await watcher.event()]}
    assert keys(events[kind]) == keys(recorded.json(session, number))


async def test_the_same_event_is_told_in_protobuf_to_those_who_want_that(master: Master, client: Client) -> None:
    async with Watcher.subscribed(client, **PROTOBUF) as watcher, Watcher.subscribed(client) as other:
        first = master_pb2.Event.FromString(await watcher.record())
        assert first.subscribed.get_state.HasField("get_agents")
        assert master_pb2.Event.FromString(await watcher.record()).type == master_pb2.Event.HEARTBEAT
        await other.event()
        async with Agent.running(master) as agent:
            added = master_pb2.Event.FromString(await watcher.record())
            assert added.agent_added.agent.agent_info.id.value == agent.id
            assert (await other.event())["agent_added"]["agent"]["agent_info"]["id"]["value"] == agent.id


async def test_a_framework_that_comes_back_or_changes_is_an_update(master: Master, client: Client) -> None:
    async with Watcher.subscribed(client) as watcher:
        await watcher.event()
        async with Scheduler.subscribed(client, failover_timeout=60) as scheduler:
            await scheduler.event("SUBSCRIBED")
            scheduler.subscription.abort()
            again = {"id": {"value": scheduler.framework_id}, "failover_timeout": 60}
            async with Scheduler.subscribed(client, **again):
                assert await watcher.kinds(2) == ["FRAMEWORK_ADDED", "FRAMEWORK_UPDATED"]


async def test_who_subscribes_late_finds_what_is_running_in_the_first_event(master: Master, client: Client) -> None:
    async with Agent.running(master) as agent, Scheduler.subscribed(client) as scheduler:
        offer = (await scheduler.event("OFFERS"))["offers"]["offers"][0]
        await scheduler.call("ACCEPT", accept=launch("t", offer))
        await agent.heard(internal_pb2.RunTaskMessage)
        async with Watcher.subscribed(client) as watcher:
            state = (await watcher.event())["subscribed"]["get_state"]
    assert [task["task_id"]["value"] for task in state["get_tasks"]["tasks"]] == ["t"]
    assert [one["framework_info"]["name"] for one in state["get_frameworks"]["frameworks"]] == ["test"]


async def test_one_watcher_more_than_allowed_ends_the_oldest(tmp_path: Path) -> None:
    master = Master(MasterFlags(port=0, registry="in_memory", max_operator_event_stream_subscribers=2))
    await master.start()
    assert isinstance(master.address, TcpAddress)
    try:
        async with (
            Client(master.address) as client,
            Watcher.subscribed(client) as oldest,
            Watcher.subscribed(client) as second,
            Watcher.subscribed(client) as third,
        ):
            rest = await asyncio.wait_for(oldest.stream.read(), 10)
            assert rest.count(b"SUBSCRIBED") == 1
            assert (await oldest.connection.request("GET", "/health")).status == 200
            async with Agent.running(master):
                assert await second.kinds(2) == ["SUBSCRIBED", "AGENT_ADDED"]
                assert await third.kinds(2) == ["SUBSCRIBED", "AGENT_ADDED"]
    finally:
        await master.close()


async def test_a_watcher_that_does_not_read_is_dropped_and_others_are_not(master: Master, client: Client) -> None:
    """The one that reads proves by its last event that all were sent; the other one's stream is cut off."""
    async with Watcher.subscribed(client) as idle, Watcher.subscribed(client) as reader, Agent.running(master) as agent:
        assert await reader.kinds(2) == ["SUBSCRIBED", "AGENT_ADDED"]
        size = 1 << 20
        async with Scheduler.subscribed(client) as scheduler:
            assert await reader.kinds(1) == ["FRAMEWORK_ADDED"]
            offer = (await scheduler.event("OFFERS"))["offers"]["offers"][0]
            await scheduler.call("ACCEPT", accept=launch("t", offer))
            run = await agent.heard(internal_pb2.RunTaskMessage)
            for number in range(2 * (STREAM_LIMIT >> 20) + 16):
                agent.update(run, RUNNING if number % 2 else mesos_pb2.TASK_STARTING, message="x" * size)
                await asyncio.gather(reader.event(), scheduler.event("UPDATE"))
        assert (await client.get_json("/metrics/snapshot"))["master/operator_event_stream_subscribers"] == 1.0
        assert idle.stream.status == 200


async def test_a_thousand_watchers_that_come_and_go_leave_nothing(master: Master, client: Client) -> None:
    async def visit() -> None:
        async with Watcher.subscribed(client) as watcher:
            await watcher.record()

    async def subscribers() -> float:
        return float((await client.get_json("/metrics/snapshot"))["master/operator_event_stream_subscribers"])

    async def settled() -> None:
        async with asyncio.timeout(10):
            while await subscribers():
                pass

    for _ in range(50):
        await visit()
    await settled()
    tasks, descriptors, kilobytes = len(asyncio.all_tasks()), open_descriptors(), resident_kb()
    for _ in range(1000):
        await visit()
    await settled()
    assert len(asyncio.all_tasks()) <= tasks
    assert open_descriptors() <= descriptors
    assert resident_kb() <= kilobytes + 2048


def open_descriptors() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def resident_kb() -> int:
    gc.collect()
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def keys(value: Any) -> set[str]:
    """Every name in a JSON value."""
    if isinstance(value, list):
        return set().union(*map(keys, value))
    return set(value).union(*map(keys, value.values())) if isinstance(value, dict) else set()
