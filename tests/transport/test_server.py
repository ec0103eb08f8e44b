"""The HTTP server and its client against each other, and against raw bytes."""

import asyncio
import contextlib
import gzip
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from tfmesos.transport import (
    BindError,
    ConnectError,
    ConnectionLost,
    HttpConnection,
    HttpServer,
    LibprocessMessage,
    Pid,
    ResponseTooLarge,
    StreamReply,
    TcpAddress,
    UnixAddress,
    reply,
)

ANY_PORT = TcpAddress("127.0.0.1", 0)


class Echo:
    """A room that dispatches by itself, as master and agent do."""

    def __init__(self) -> None:
        self.waiting = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.streams: asyncio.Queue[StreamReply] = asyncio.Queue()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        match request.path:
            case "/echo":
                return reply(200, await request.read(), "application/octet-stream", {"X-Method": request.method})
            case "/long":
                return reply(200, "x" * 2000, request=request)
            case "/endless":
                self.waiting.set()
                try:
                    await asyncio.get_running_loop().create_future()
                except asyncio.CancelledError:
                    self.cancelled.set()
                    raise
            case "/stream":
                stream = StreamReply("application/x-protobuf", {"Mesos-Stream-Id": "some-id"}, limit=1000)
                self.streams.put_nowait(stream)
                try:
                    return await stream.serve(request)
                finally:
                    self.cancelled.set()
        return reply(404, "nothing here")


@contextlib.asynccontextmanager
async def serving(echo: Echo, messages: list[LibprocessMessage] | None = None) -> AsyncIterator[HttpServer]:
    def receive(message: LibprocessMessage) -> bool:
        assert messages is not None
        messages.append(message)
        return message.to_id == "master"

    server = await HttpServer.start(echo.handle, ANY_PORT, receive if messages is not None else None)
    try:
        yield server
    finally:
        await server.close()


async def raw(server: HttpServer) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    assert isinstance(server.address, TcpAddress)
    return await asyncio.open_connection(server.address.host, server.address.port)


@pytest.mark.parametrize("with_messages", [False, True])
async def test_request_and_answer_of_any_size(with_messages: bool) -> None:
    messages: list[LibprocessMessage] | None = [] if with_messages else None
    async with serving(Echo(), messages) as server, await HttpConnection.open(server.address) as connection:
        for body in (b"", b"short", b"\0\xff" * 3_000_000):
            answer = await connection.request("POST", "/echo", {"Accept": "*/*"}, body)
            assert (answer.status, answer.reason, answer.body) == (200, "OK", body)
            assert answer.headers["x-method"] == "POST"
        assert (await connection.request("GET", "/nowhere")).status == 404
        assert connection.local_host == "127.0.0.1"
        assert not connection.is_closed


async def test_pipelined_answers_come_in_order_and_a_cancelled_caller_disturbs_nobody() -> None:
    async with serving(Echo()) as server, await HttpConnection.open(server.address) as connection:
        calls = [asyncio.create_task(connection.request("POST", "/echo", body=str(i).encode())) for i in range(50)]
        await asyncio.sleep(0)
        calls[3].cancel()
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(answers[3], asyncio.CancelledError)
        bodies = [answer.body for answer in answers if not isinstance(answer, BaseException)]
        assert bodies == [str(i).encode() for i in range(50) if i != 3]


async def test_unix_socket(tmp_path: Path) -> None:
    address = UnixAddress(str(tmp_path / "master.sock"))
    server = await HttpServer.start(Echo().handle, address)
    async with await HttpConnection.open(address) as connection:
        assert (await connection.request("POST", "/echo", body=b"over a file")).body == b"over a file"
    await server.close()
    assert not os.listdir(tmp_path)
    with pytest.raises(ConnectError, match=r"cannot connect to unix:///.*master.sock: no such file or directory"):
        await HttpConnection.open(address)


async def test_an_address_in_use_is_named() -> None:
    async with serving(Echo()) as server:
        with pytest.raises(BindError, match=rf"cannot listen on {server.address}: the address is already in use"):
            await HttpServer.start(Echo().handle, server.address)
    with pytest.raises(BindError, match=r"cannot listen on 203.0.113.7:0: cannot assign requested address"):
        await HttpServer.start(Echo().handle, TcpAddress("203.0.113.7", 0))


async def test_nobody_listening_is_a_connect_error() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        address = TcpAddress("127.0.0.1", bound.getsockname()[1])
        with pytest.raises(ConnectError, match=rf"cannot connect to {address}: connection refused"):
            await HttpConnection.open(address)


@pytest.mark.parametrize("data", [b"\0\1\2 no http\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"POST /" * 20_000])
@pytest.mark.parametrize("with_messages", [False, True])
async def test_bytes_that_are_no_http_close_the_connection_without_an_answer(data: bytes, with_messages: bool) -> None:
    async with serving(Echo(), [] if with_messages else None) as server:
        reader, writer = await raw(server)
        writer.write(data)
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()


async def test_a_body_that_is_not_what_its_encoding_says_closes_the_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(Echo(), []) as server:
        reader, writer = await raw(server)
        writer.write(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: 8\r\n\r\nno gzip!")
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
    assert "Traceback" not in caplog.text


async def test_an_idle_connection_is_kept_and_its_end_is_noticed() -> None:
    async with serving(Echo()) as server:
        connection = await HttpConnection.open(server.address)
        assert (await connection.request("GET", "/nowhere")).status == 404
        waiting = asyncio.create_task(connection.wait_closed())
        await asyncio.sleep(0)
        assert not waiting.done()
    await waiting
    assert connection.is_closed
    with pytest.raises(ConnectionLost, match="lost"):
        await connection.request("GET", "/nowhere")


async def test_handler_is_cancelled_when_its_client_goes_away() -> None:
    echo = Echo()
    async with serving(echo) as server:
        connection = await HttpConnection.open(server.address)
        call = asyncio.create_task(connection.request("GET", "/endless"))
        await echo.waiting.wait()
        await connection.close()
        with pytest.raises(ConnectionLost):
            await call
        await echo.cancelled.wait()


async def test_server_closes_though_a_handler_never_ends() -> None:
    echo = Echo()
    async with serving(echo) as server:
        connection = await HttpConnection.open(server.address)
        call = asyncio.create_task(connection.request("GET", "/endless"))
        await echo.waiting.wait()
    with pytest.raises(ConnectionLost):
        await call
    assert echo.cancelled.is_set()


async def test_answer_longer_than_allowed() -> None:
    async with serving(Echo()) as server, await HttpConnection.open(server.address) as connection:
        with pytest.raises(ResponseTooLarge, match=r"longer than the 1999 bytes"):
            await connection.request("GET", "/long", limit=1999)
        assert connection.is_closed


async def test_long_answers_are_gzip_only_for_those_who_take_it() -> None:
    async with serving(Echo()) as server, await HttpConnection.open(server.address) as connection:
        plain = await connection.request("GET", "/long")
        packed = await connection.request("GET", "/long", {"Accept-Encoding": "deflate, gzip;q=0.5"})
        refused = await connection.request("GET", "/long", {"Accept-Encoding": "gzip;q=0"})
        assert plain.body == refused.body == gzip.decompress(packed.body) == b"x" * 2000
        assert packed.headers["content-encoding"] == "gzip"
        assert "content-encoding" not in plain.headers


async def test_streamed_answer_arrives_at_once_and_ends_with_the_connection_open() -> None:
    echo = Echo()
    async with serving(echo) as server, await HttpConnection.open(server.address) as connection:
        answer = await connection.stream("POST", "/stream")
        assert (answer.status, answer.headers["mesos-stream-id"]) == (200, "some-id")
        assert answer.headers["transfer-encoding"] == "chunked"
        stream = await echo.streams.get()
        chunks = aiter(answer)
        for data in (b"one", b"two"):
            stream.send(data)
            assert await anext(chunks) == data
        stream.send(b"three")
        stream.send(b"four")
        stream.end()
        stream.send(b"too late")
        assert await answer.read() == b"threefour"
        assert stream.is_closed
        assert (await connection.request("POST", "/echo", body=b"still here")).body == b"still here"


async def test_what_comes_at_once_may_be_longer_than_the_limit() -> None:
    echo = Echo()
    async with serving(echo) as server, await HttpConnection.open(server.address) as connection:
        answer = await connection.stream("POST", "/stream")
        stream = await echo.streams.get()
        for _ in range(50):
            stream.send(bytes(1 << 20))
        stream.end()

        assert len(await answer.read()) == 50 << 20


async def test_a_client_that_does_not_read_its_stream_is_cut_off() -> None:
    echo = Echo()
    async with serving(echo) as server:
        reader, writer = await raw(server)
        writer.write(b"POST /stream HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        await reader.readline()
        stream = await echo.streams.get()
        async with asyncio.timeout(10):
            while not stream.is_closed:
                stream.send(bytes(1 << 20))  # first what the system's buffers take
                await asyncio.sleep(0)
        await echo.cancelled.wait()
        with contextlib.suppress(ConnectionResetError):
            await reader.read()
        writer.close()
        with contextlib.suppress(ConnectionResetError):
            await writer.wait_closed()


PING = b"POST /master/ping HTTP/1.1\r\nLibprocess-From: a@127.0.0.1:1\r\nContent-Length: 2\r\n\r\nhi"


async def test_messages_of_a_sender_that_closes_at_once_all_arrive() -> None:
    messages: list[LibprocessMessage] = []
    async with serving(Echo(), messages) as server:
        _, writer = await raw(server)
        writer.write(PING * 100)
        writer.close()
        await writer.wait_closed()
        async with asyncio.timeout(10):
            while len(messages) < 100:  # noqa: ASYNC110  # the receiver is synchronous
                await asyncio.sleep(0)
    assert messages == [LibprocessMessage("master", "ping", Pid("a", "127.0.0.1", 1), b"hi")] * 100


async def test_known_ids_get_202_and_unknown_ones_404_also_between_other_requests() -> None:
    messages: list[LibprocessMessage] = []
    async with serving(Echo(), messages) as server, await HttpConnection.open(server.address) as connection:
        headers = {"Libprocess-From": "a@127.0.0.1:1"}
        statuses = []
        for path in ("/master/ping", "/gone(3)/pong", "/echo", "/master/ping", "/gone(3)/pong"):
            answer = await connection.request("POST", path, {} if path == "/echo" else headers, b"hi")
            statuses.append((answer.status, answer.body))
    assert statuses == [(202, b""), (404, b"404 Not Found."), (200, b"hi"), (202, b""), (404, b"404 Not Found.")]
    assert [message.to_id for message in messages] == ["master", "gone(3)", "master", "gone(3)"]


async def test_a_receiver_that_fails_keeps_the_link(caplog: pytest.LogCaptureFixture) -> None:
    def receive(message: LibprocessMessage) -> bool:
        raise ValueError("a bug")

    server = await HttpServer.start(Echo().handle, ANY_PORT, receive)
    async with await HttpConnection.open(server.address) as connection:
        for _ in range(2):
            assert (await connection.request("POST", "/a/b", {"Libprocess-From": "a@b:1"})).status == 202
    await server.close()
    assert "receiver of b for a failed" in caplog.text
