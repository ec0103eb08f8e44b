"""The connection that carries a subscription's calls, as its owner may use it."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import pytest

from tests.client.fake_master import FakeMaster
from tfmesos.client._calls import CallLink
from tfmesos.client._moves import Target
from tfmesos.client._subscription import PATH
from tfmesos.transport import ConnectionLost, TcpAddress


async def test_one_that_is_closed_while_it_opens_sends_nothing() -> None:
    fake = FakeMaster()
    await fake.start()
    host, _, port = fake.address.rpartition(":")
    link = CallLink(Target(TcpAddress(host, int(port)), PATH), {}, 10)
    posting = asyncio.create_task(link.post(b""))
    await asyncio.sleep(0)
    link.close()
    with pytest.raises(ConnectionLost, match="closed on this side"):
        await posting
    assert fake.paths == []
    await fake.close()


async def test_after_a_redirect_the_connections_to_both_masters_are_closed_with_it() -> None:
    # given a master that leads, and one that knows it; both see when a client goes
    gone = [asyncio.Event(), asyncio.Event()]
    leader = await asyncio.start_server(answering(b"HTTP/1.1 202 Accepted", gone[0]), "127.0.0.1", 0)
    location = b"//127.0.0.1:%d/x" % port_of(leader)
    other = await asyncio.start_server(
        answering(b"HTTP/1.1 307 Temporary Redirect\r\nLocation: " + location, gone[1]), "127.0.0.1", 0
    )
    # when a call was led from one to the other
    link = CallLink(Target(TcpAddress("127.0.0.1", port_of(other)), PATH), {}, 10)
    assert (await link.post(b"")).status == 202
    assert not any(event.is_set() for event in gone)
    # then closing the link ends both connections
    link.close()
    async with asyncio.timeout(10):
        for event in gone:
            await event.wait()
    for server in (leader, other):
        server.close()
        await server.wait_closed()


def answering(
    head: bytes, gone: asyncio.Event
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head + b"\r\nContent-Length: 0\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            await reader.read()
        gone.set()
        writer.close()

    return serve


def port_of(server: asyncio.Server) -> int:
    return int(server.sockets[0].getsockname()[1])
