"""Who answers where a master was expected."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Collection

import pytest
from aiohttp import web

from tfmesos.discovery import Stranger, find_stranger, stranger_text
from tfmesos.master import Master, MasterFlags
from tfmesos.transport import HttpServer, TcpAddress, reply

MASTERS, AGENTS = "/master/health", "/slave(1)/health"


async def who_answers(healthy: Collection[str]) -> Stranger | None:
    """Where these paths, and no others, are there."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        return reply(200 if request.path in healthy else 404)

    server = await HttpServer.start(answer, TcpAddress("127.0.0.1", 0))
    found = await find_stranger(server.address)
    await server.close()
    return found


@pytest.mark.parametrize(
    ("healthy", "stranger"),
    [
        ([MASTERS, "/health"], None),
        ([AGENTS, "/health"], Stranger.AGENT),
        ([], Stranger.WEB_SERVER),
        ([MASTERS, AGENTS], Stranger.WEB_SERVER),
    ],
)
async def test_a_daemon_of_mesos_is_told_by_the_name_of_its_process(
    healthy: list[str], stranger: Stranger | None
) -> None:
    assert await who_answers(healthy) is stranger


async def test_of_who_does_not_speak_http_nothing_is_said() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert await find_stranger(TcpAddress("127.0.0.1", unused.getsockname()[1])) is None
    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    assert await find_stranger(TcpAddress("127.0.0.1", server.sockets[0].getsockname()[1])) is None
    server.close()
    await server.wait_closed()


async def test_our_master_is_none() -> None:
    master = Master(MasterFlags(ip="127.0.0.1", port=0, registry="in_memory"))
    await master.start()
    assert await find_stranger(master.address) is None
    await master.close()


@pytest.mark.stock
async def test_a_stock_master_is_none(stock_master: object) -> None:
    assert await find_stranger(TcpAddress("127.0.0.1", stock_master.port)) is None  # type: ignore[attr-defined]


def test_the_text_says_what_to_look_at() -> None:
    assert stranger_text(TcpAddress("h", 5051), Stranger.AGENT) == (
        "h:5051 answers, but it is a Mesos agent, not a master (masters listen on 5050 by default)"
    )
