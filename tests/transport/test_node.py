"""Libprocess messages between two real nodes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from tfmesos.transport import (
    NO_PID,
    HttpServer,
    LibprocessMessage,
    LibprocessNode,
    Pid,
    TcpAddress,
    UnixAddress,
    reply,
)


class Receiver:
    """A process `master` that counts what it gets, and the connections by which it came."""

    def __init__(self) -> None:
        self.messages: list[LibprocessMessage] = []
        self.changed = asyncio.Event()
        self.pid = NO_PID

    def receive(self, message: LibprocessMessage) -> bool:
        self.messages.append(message)
        self.changed.set()
        return True

    async def wait_count(self, count: int) -> None:
        async with asyncio.timeout(10):
            while len(self.messages) < count:
                self.changed.clear()
                await self.changed.wait()


async def nothing(request: web.BaseRequest) -> web.StreamResponse:
    return reply(404)


@contextlib.asynccontextmanager
async def receiving(port: int = 0) -> AsyncIterator[Receiver]:
    receiver = Receiver()
    server = await HttpServer.start(nothing, TcpAddress("127.0.0.1", port), receiver.receive)
    assert isinstance(server.address, TcpAddress)
    receiver.pid = Pid("master", "127.0.0.1", server.address.port)
    try:
        yield receiver
    finally:
        await server.close()


@contextlib.asynccontextmanager
async def sending() -> AsyncIterator[LibprocessNode]:
    node = LibprocessNode("127.0.0.1", 5051)
    try:
        yield node
    finally:
        await node.close()


class Exits:
    """Remembers who exited."""

    def __init__(self) -> None:
        self.pids: list[Pid] = []
        self.first = asyncio.Event()

    def __call__(self, pid: Pid) -> None:
        self.pids.append(pid)
        self.first.set()

    async def wait_first(self) -> None:
        async with asyncio.timeout(10):
            await self.first.wait()


async def test_messages_arrive_whole_and_in_order_without_a_link() -> None:
    async with receiving() as receiver, sending() as node:
        bodies = [b"", b"\r\n0\r\n\r\n", b"x" * 2_000_000, *(str(i).encode() for i in range(500))]
        for body in bodies:
            node.send(receiver.pid, "slave(1)", "mesos.internal.PingSlaveMessage", body)
        await receiver.wait_count(len(bodies))
        node.send(receiver.pid, "slave(1)", "later", b"over a new connection")
        await receiver.wait_count(len(bodies) + 1)
    assert [message.body for message in receiver.messages[:-1]] == bodies
    assert receiver.messages[0].sender == Pid("slave(1)", "127.0.0.1", 5051)
    assert receiver.messages[0].to_id == "master"


async def test_what_was_sent_before_close_arrives() -> None:
    async with receiving() as receiver:
        async with sending() as node:
            node.send(receiver.pid, "slave(1)", "mesos.internal.UnregisterSlaveMessage", b"bye")
        await receiver.wait_count(1)


async def test_order_holds_over_temporary_connections_and_links() -> None:
    async with receiving() as receiver, sending() as node:
        exits = Exits()
        for i in range(200):
            node.send(receiver.pid, "a", "n", str(i).encode())
            if i % 20 == 7:
                node.link(receiver.pid, exits)
            if i % 20 == 15:
                node.unlink(receiver.pid)
            if i % 3 == 0:
                await asyncio.sleep(0)
        await receiver.wait_count(200)
    assert [int(message.body) for message in receiver.messages] == list(range(200))
    assert exits.pids == []


async def test_linked_peer_that_goes_away_is_told_once_to_every_linker() -> None:
    async with sending() as node:
        async with receiving() as receiver:
            one, two = Exits(), Exits()
            node.link(receiver.pid, one)
            node.link(Pid("other", receiver.pid.host, receiver.pid.port), two)
            node.send(receiver.pid, "a", "n", b"")
            await receiver.wait_count(1)
            assert not one.pids
        await one.wait_first()
        await two.wait_first()
    assert one.pids == [receiver.pid]
    assert [pid.id for pid in two.pids] == ["other"]


async def test_link_to_nobody_exits_and_can_be_made_again() -> None:
    async with sending() as node:
        async with receiving() as receiver:
            pid = receiver.pid
        exits = Exits()
        node.link(pid, exits)
        assert exits.pids == []  # never from within link
        await exits.wait_first()
        async with receiving(pid.port) as again:
            later = Exits()
            node.link(pid, later)
            node.send(pid, "a", "n", b"")
            await again.wait_count(1)
        await later.wait_first()
    assert exits.pids == [pid]


async def test_unlinked_and_reconnected_links_say_nothing() -> None:
    async with sending() as node:
        async with receiving() as receiver:
            gone, kept = Exits(), Exits()
            node.link(receiver.pid, gone)
            node.send(receiver.pid, "a", "n", b"1")
            await receiver.wait_count(1)
            node.unlink(receiver.pid)
            node.link(receiver.pid, kept)
            node.link(receiver.pid, kept, reconnect=True)
            node.send(receiver.pid, "a", "n", b"2")
            await receiver.wait_count(2)
            assert not gone.pids
            assert not kept.pids
        await kept.wait_first()
        await asyncio.sleep(0)
        assert kept.pids == [receiver.pid], "told once, however often it was linked"
        assert not gone.pids


async def test_messages_to_nobody_are_dropped() -> None:
    async with sending() as node:
        node.send(NO_PID, "a", "n", b"")
        async with receiving() as receiver:
            pid = receiver.pid
        node.send(pid, "a", "n", b"lost")
        async with receiving() as other:
            node.send(other.pid, "a", "n", b"kept")
            await other.wait_count(1)


async def test_routes_lead_made_up_pids_to_unix_sockets(tmp_path: Path) -> None:
    receiver = Receiver()
    address = UnixAddress(str(tmp_path / "master.sock"))
    server = await HttpServer.start(nothing, address, receiver.receive)
    node = LibprocessNode("127.0.0.1", 5051, {("127.0.0.1", 5050): address})
    exits = Exits()
    node.link(Pid("master", "127.0.0.1", 5050), exits)
    node.send(Pid("master", "127.0.0.1", 5050), "slave(1)", "n", b"hello")
    await receiver.wait_count(1)
    await server.close()
    await exits.wait_first()
    await node.close()
    assert receiver.messages[0].body == b"hello"


async def test_nobody_at_the_address_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async with receiving() as receiver:
        gone = receiver.pid
    async with sending() as node:
        exited = asyncio.Event()
        node.link(gone, lambda to: exited.set())
        async with asyncio.timeout(10):
            await exited.wait()

    assert f"cannot connect to {gone.host}:{gone.port}: connection refused" in caplog.messages
