"""The owner's end of the way to a supervisor."""

import asyncio
import socket
from collections.abc import Iterator

import pytest

from tfmesos.supervision._channel import Channel
from tfmesos.supervision._frames import Kind, encode_frame
from tfmesos.supervision._server_handle import ServerHandle


@pytest.fixture
def sockets() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def capacity() -> int:
    """How many bytes a socket takes that nobody reads."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        return ours.send(bytes(4 << 20))


def read_all(theirs: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size and (data := theirs.recv(1 << 20)):
        received += data
    return received


async def test_no_frame_is_lost_while_the_supervisor_has_not_read_its_program(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    # given a supervisor that is too slow to read its large program
    ours, theirs = sockets
    theirs.settimeout(10)
    channel = Channel(ours, ServerHandle(lambda pid, status: None, lambda handle: None), lambda channel: None)
    program = bytes(capacity())
    await channel.send_program(program)
    # when it is told more
    channel.send(Kind.RELEASE)
    channel.send(Kind.KILL, b"1.5")
    # then that arrives behind the program
    expected = encode_frame(Kind.RELEASE) + encode_frame(Kind.KILL, b"1.5")
    received = await asyncio.to_thread(read_all, theirs, len(program) + len(expected))
    assert received[len(program) :] == expected
    channel.close()


@pytest.mark.parametrize("nonsense", [b"\xff" * 64, encode_frame(Kind.HELLO, b"nobody")])
async def test_who_speaks_nonsense_is_heard_no_longer(
    sockets: tuple[socket.socket, socket.socket], nonsense: bytes
) -> None:
    ours, theirs = sockets
    closed = asyncio.Event()
    channel = Channel(ours, None, lambda _: closed.set())

    theirs.sendall(nonsense)
    async with asyncio.timeout(20):
        await closed.wait()

    assert not channel.is_open
