"""Which path is answered by whom, and what queries and forms say."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from tfmesos.endpoints import Handler, LogLevel, Routes, json_page, query_of, refused_head
from tfmesos.endpoints.log_level import BadLevel
from tfmesos.transport import HttpConnection, HttpServer, TcpAddress, reply


def says(text: str) -> Handler:
    async def handle(_: web.BaseRequest) -> web.StreamResponse:
        return reply(200, text)

    return handle


async def shows_query(request: web.BaseRequest) -> web.StreamResponse:
    return await json_page(request, json.dumps(query_of(request)).encode())


async def is_large(request: web.BaseRequest) -> web.StreamResponse:
    return await json_page(request, b'"' + b"x" * 1_000_000 + b'"')


async def head_of_call(request: web.BaseRequest) -> web.StreamResponse:
    return refused_head(request) or reply(202)


@pytest.fixture
async def http() -> AsyncIterator[HttpConnection]:
    table = {"/a": says("a"), "/a/b": says("ab"), "/query": shows_query, "/large": is_large, "/call": head_of_call}
    routes = Routes("slave(1)", table, {"/exact": says("exact")})

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        handler = routes.find(request)
        return reply(404) if handler is None else await handler(request)

    server = await HttpServer.start(handle, TcpAddress("127.0.0.1", 0))
    async with await HttpConnection.open(server.address) as connection:
        yield connection
    await server.close()


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/a", "a"),
        ("/a/", "a"),
        ("/a/x/y", "a"),
        ("/a/b/c", "ab"),
        ("/ab", None),
        ("/slave(1)/a", "a"),
        ("/slave%281%29/a/b", "ab"),
        ("/a%2Fb", None),
        ("/slave(1)", None),
        ("/slave(2)/a", None),
        ("/exact", "exact"),
        ("/exact/x", None),
        ("//a", None),
        ("/", None),
    ],
)
async def test_the_longest_known_beginning_of_a_path_answers(
    http: HttpConnection, path: str, answer: str | None
) -> None:
    response = await http.request("GET", path)
    assert (response.status, response.body.decode()) == ((200, answer) if answer else (404, ""))


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("a=1&b=&a=2", {"a": "2", "b": ""}),
        ("a=%C3%A9&b=%ff", {"a": "é", "b": "\ufffd"}),
        ("a", {"a": ""}),
        ("&".join(["a=1"] * 2000), {}),
        ("", {}),
    ],
)
async def test_queries(http: HttpConnection, query: str, fields: dict[str, str]) -> None:
    response = await http.request("GET", f"/query?{query}")
    assert json.loads(response.body) == fields


async def test_large_pages_are_compressed_for_those_who_take_it(http: HttpConnection) -> None:
    response = await http.request("GET", "/large?jsonp=f", {"Accept-Encoding": "gzip"})
    assert response.headers["content-encoding"] == "gzip"
    assert len(response.body) < 10_000
    assert gzip.decompress(response.body) == b'f("' + b"x" * 1_000_000 + b'")'


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("GET", {}, 405),
        ("POST", {}, 400),
        ("POST", {"Content-Type": "application/json; charset=utf-8"}, 415),
        ("POST", {"Content-Type": "application/recordio"}, 415),
        ("POST", {"Content-Type": "application/x-protobuf"}, 202),
    ],
)
async def test_the_head_of_a_call(http: HttpConnection, method: str, headers: dict[str, str], status: int) -> None:
    assert (await http.request(method, "/call", headers)).status == status


async def test_a_level_holds_for_its_time_and_then_the_usual_one_does() -> None:
    usual = logging.getLogger().level
    level = LogLevel()
    is_over = asyncio.Event()
    level.set(3, 0.01)
    asyncio.get_running_loop().call_later(0.02, is_over.set)
    assert (level.level, logging.getLogger().level) == (3, logging.DEBUG)
    await is_over.wait()
    assert (level.level, logging.getLogger().level) == (0, usual)


async def test_closing_takes_a_level_back() -> None:
    usual = logging.getLogger().level
    level = LogLevel()
    level.set(1, 1e300)
    level.close()
    assert (level.level, logging.getLogger().level) == (0, usual)


@pytest.mark.parametrize(
    ("level", "duration", "text"),
    [
        (None, "1secs", "Expecting 'level=value' in query.\n"),
        ("1", None, "Expecting 'duration=value' in query.\n"),
        ("x", "1secs", "Invalid level 'x'.\n"),
        ("-1", "1secs", "Invalid level '-1'.\n"),
        ("--1", "1secs", "Invalid level '--1'.\n"),
        ("²", "1secs", "Invalid level '²'.\n"),
        ("1", "x", "Invalid duration 'x': Failed to convert '' to number.\n"),
    ],
)
async def test_levels_that_make_no_sense_are_refused(level: str | None, duration: str | None, text: str) -> None:
    with pytest.raises(BadLevel) as refused:
        LogLevel().toggle(level, duration)
    assert str(refused.value) == text
