"""Our libprocess node and server at a stock Apache Mesos master: a made-up agent registers, is linked and pinged."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from tfmesos.transport import HttpServer, LibprocessMessage, LibprocessNode, Pid, TcpAddress, reply
from tfmesos.wire import internal_pb2

pytestmark = pytest.mark.stock
NAMES = "mesos.internal."


class MadeUpAgent:
    """The least that a master takes for an agent."""

    def __init__(self, master: Pid) -> None:
        self.master = master
        self.inbox: dict[str, asyncio.Queue[LibprocessMessage]] = defaultdict(asyncio.Queue)
        self.exited = asyncio.Event()
        self.answers_pings = True

    async def start(self) -> None:
        self.server = await HttpServer.start(self._handle, TcpAddress("127.0.0.1", 0), self._receive)
        assert isinstance(self.server.address, TcpAddress)
        self.node = LibprocessNode("127.0.0.1", self.server.address.port)
        self.node.link(self.master, lambda pid: self.exited.set())

    async def close(self) -> None:
        await self.node.close()
        await self.server.close()

    def register(self) -> None:
        message = internal_pb2.RegisterSlaveMessage(version="1.11.0")
        message.slave.hostname = "made-up"
        message.slave.port = self.node.pid("slave(1)").port
        message.slave.resources.add(name="cpus", type=0).scalar.value = 1
        for capability in (2, 3, 4):
            message.agent_capabilities.add(type=capability)
        self.send(self.master, "RegisterSlaveMessage", message.SerializeToString())

    def send(self, to: Pid, name: str, body: bytes) -> None:
        self.node.send(to, "slave(1)", NAMES + name, body)

    async def wait_message(self, name: str) -> LibprocessMessage:
        async with asyncio.timeout(10):
            return await self.inbox[NAMES + name].get()

    def _receive(self, message: LibprocessMessage) -> bool:
        self.inbox[message.name].put_nowait(message)
        if message.name == NAMES + "PingSlaveMessage" and self.answers_pings:
            self.send(message.sender, "PongSlaveMessage", b"")
        return message.to_id == "slave(1)"

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        return reply(404)


@contextlib.asynccontextmanager
async def agent_at(address: str) -> AsyncIterator[MadeUpAgent]:
    host, _, port = address.partition(":")
    agent = MadeUpAgent(Pid("master", host, int(port)))
    await agent.start()
    try:
        yield agent
    finally:
        await agent.close()


async def test_an_agent_registers_is_pinged_and_unregisters(stock_master: Any) -> None:
    async with agent_at(stock_master.address) as agent:
        agent.register()
        registered = internal_pb2.SlaveRegisteredMessage.FromString(
            (await agent.wait_message("SlaveRegisteredMessage")).body
        )
        ping = internal_pb2.PingSlaveMessage.FromString((await agent.wait_message("PingSlaveMessage")).body)
        assert ping.connected
        known = await asyncio.to_thread(stock_master.get, "/master/slaves")
        assert registered.slave_id.value in [slave["id"] for slave in known["slaves"]]
        leave = internal_pb2.UnregisterSlaveMessage(slave_id=registered.slave_id)
        agent.send(agent.master, "UnregisterSlaveMessage", leave.SerializeToString())
        async with asyncio.timeout(10):
            while registered.slave_id.value in str(await asyncio.to_thread(stock_master.get, "/master/slaves")):
                pass
        assert not agent.exited.is_set()


async def test_many_messages_at_once_keep_the_link(stock_master: Any) -> None:
    async with agent_at(stock_master.address) as agent:
        for _ in range(2000):
            agent.send(agent.master, "PongSlaveMessage", b"")  # dropped by the master, but answered
        agent.register()
        await agent.wait_message("SlaveRegisteredMessage")
        assert not agent.exited.is_set()


async def test_messages_over_temporary_connections_arrive_in_order(stock_master: Any) -> None:
    async with agent_at(stock_master.address) as agent:
        agent.node.unlink(agent.master)
        for _ in range(100):
            agent.send(agent.master, "PongSlaveMessage", b"")
        agent.register()
        await agent.wait_message("SlaveRegisteredMessage")
        agent.register()  # over another connection: the master repeats its answer
        await agent.wait_message("SlaveRegisteredMessage")


async def test_pongs_keep_an_agent_and_silence_loses_it(start_stock_master: Any) -> None:
    master = await asyncio.to_thread(
        lambda: start_stock_master(MESOS_AGENT_PING_TIMEOUT="1secs", MESOS_MAX_AGENT_PING_TIMEOUTS="2")
    )
    async with agent_at(master.address) as agent:
        agent.register()
        await agent.wait_message("SlaveRegisteredMessage")
        for _ in range(4):
            await agent.wait_message("PingSlaveMessage")
        assert (await asyncio.to_thread(master.get, "/metrics/snapshot"))["master/slaves_active"] == 1
        agent.answers_pings = False
        async with asyncio.timeout(10):
            while (await asyncio.to_thread(master.get, "/metrics/snapshot"))["master/slaves_unreachable"] != 1:
                pass
        assert not agent.exited.is_set()
        master.stop()
        async with asyncio.timeout(10):
            await agent.exited.wait()
