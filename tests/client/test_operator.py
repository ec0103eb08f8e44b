"""The clients of the operator APIs, against a server that answers as recorded from a stock agent and master."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from tfmesos.client import AgentClient, CallRejected, MasterClient, SchedulerClient
from tfmesos.discovery import build_detector
from tfmesos.transport import HttpServer, TcpAddress, reply
from tfmesos.wire import agent_pb2, mesos_pb2, scheduler_pb2

CONTENT = bytes(range(256)) * 4


async def handle(request: web.BaseRequest) -> web.StreamResponse:
    if request.path == "/state":
        return reply(200, json.dumps({"id": "some-id"}), "application/json")
    call = agent_pb2.Call.FromString(await request.read())
    answer = agent_pb2.Response(type=agent_pb2.Response.UNKNOWN)
    if call.read_file.path == "/there":
        begin = call.read_file.offset
        answer.read_file.size = len(CONTENT)
        answer.read_file.data = CONTENT[begin : begin + call.read_file.length]
    elif call.list_files.path == "/":
        answer.list_files.file_infos.add(path="/there", size=len(CONTENT))
    elif call.read_file.path == "/secret":
        return reply(403, "not for you")
    else:
        return reply(404)
    return reply(200, answer.SerializeToString(), "application/x-protobuf")


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    server = await HttpServer.start(handle, TcpAddress("127.0.0.1", 0))
    yield server
    await server.close()


async def test_files_are_read_exactly(server: HttpServer) -> None:
    async with AgentClient(server.address) as client:
        assert await client.read_file("/there", 250, 10) == (1024, CONTENT[250:260])
        assert await client.read_file("/there", 1024, 10) == (1024, b"")
        assert [info.path for info in await client.list_files("/")] == ["/there"]


async def test_many_readers_share_one_connection(server: HttpServer) -> None:
    async with AgentClient(server.address) as client:
        parts = await asyncio.gather(*(client.read_file("/there", at, 1) for at in range(100)))
    assert b"".join(data for _, data in parts) == CONTENT[:100]


async def test_what_is_not_there_or_not_allowed(server: HttpServer) -> None:
    async with AgentClient(server.address) as client:
        with pytest.raises(FileNotFoundError, match="/nowhere"):
            await client.read_file("/nowhere", 0, 1)
        with pytest.raises(CallRejected, match=r"READ_FILE refused \(403\): not for you"):
            await client.read_file("/secret", 0, 1)


async def test_a_lost_connection_is_opened_again(server: HttpServer) -> None:
    client = AgentClient(server.address)
    await client.read_file("/there", 0, 1)
    await server.close()
    again = await HttpServer.start(handle, server.address)
    assert await client.read_file("/there", 0, 1) == (1024, CONTENT[:1])
    await client.close()
    await client.close()
    await again.close()


async def test_an_endpoint_of_the_master(server: HttpServer) -> None:
    async with MasterClient(server.address) as client:
        assert await client.get_json("/state") == {"id": "some-id"}
        with pytest.raises(CallRejected, match=r"GET /nowhere refused \(404\)"):
            await client.get_json("/nowhere")


@pytest.mark.stock
async def test_a_framework_torn_down_by_the_operator_hears_of_it(stock_master: Any) -> None:
    info = mesos_pb2.FrameworkInfo(user="root", name="victim", failover_timeout=60)
    host, _, port = stock_master.address.partition(":")
    async with SchedulerClient(build_detector(stock_master.address), info) as scheduler:
        await anext(scheduler)
        async with MasterClient(TcpAddress(host, int(port))) as master:
            names = [framework["name"] for framework in (await master.get_json("/master/state"))["frameworks"]]
            assert "victim" in names
            await master.teardown(scheduler.framework_id or "")
        event = await anext(scheduler)
        assert event.type == scheduler_pb2.Event.ERROR
        assert event.error.message == "Framework has been removed"
        with pytest.raises(StopAsyncIteration):
            await anext(scheduler)
