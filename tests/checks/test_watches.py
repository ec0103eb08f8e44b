import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from tfmesos.checks import NotLooked, TaskChecks
from tfmesos.wire import mesos_pb2

Health = mesos_pb2.HealthCheck
News = bool | str | tuple[str, int]
EXIT_3 = 3 << 8


class Ear:
    """Hears what checks tell."""

    def __init__(self) -> None:
        self.news: asyncio.Queue[News] = asyncio.Queue()

    def hear_check(self, status: mesos_pb2.CheckStatusInfo) -> None:
        match status.type:
            case mesos_pb2.CheckInfo.COMMAND:
                text = str(status.command.exit_code) if status.command.HasField("exit_code") else "nothing"
            case mesos_pb2.CheckInfo.HTTP:
                text = str(status.http.status_code) if status.http.HasField("status_code") else "nothing"
            case _:
                text = str(status.tcp.succeeded) if status.tcp.HasField("succeeded") else "nothing"
        self.news.put_nowait(text)

    def hear_hopeless(self) -> None:
        self.news.put_nowait("hopeless")

    async def next(self) -> News:
        async with asyncio.timeout(20):
            return await self.news.get()


async def no_command(command: mesos_pb2.CommandInfo) -> int:
    raise AssertionError(command.value)


@asynccontextmanager
async def watching(
    task: mesos_pb2.TaskInfo, run_command: Callable[[mesos_pb2.CommandInfo], Awaitable[int]] = no_command
) -> AsyncIterator[tuple[Ear, TaskChecks]]:
    ear = Ear()
    checks = TaskChecks(
        task,
        host="127.0.0.1",
        run_command=run_command,
        on_check=ear.hear_check,
        on_health=ear.news.put_nowait,
        on_unhealthy=ear.hear_hopeless,
    )
    checks.start()
    try:
        yield ear, checks
    finally:
        await checks.close()


@asynccontextmanager
async def serving(answer: bytes | None, host: str = "127.0.0.1") -> AsyncIterator[int]:
    """A server that answers every request so; None: never."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            if answer is not None:
                writer.write(answer)
            else:
                await reader.read()
        except asyncio.IncompleteReadError:
            pass
        writer.close()

    server = await asyncio.start_server(serve, host, 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


def quick(health: Health, timeout_s: float = 5, failures: int = 2) -> mesos_pb2.TaskInfo:
    health.delay_seconds, health.interval_seconds, health.timeout_seconds = 0, 0.01, timeout_s
    health.grace_period_seconds, health.consecutive_failures = 0, failures
    return mesos_pb2.TaskInfo(health_check=health)


def quick_check(check: mesos_pb2.CheckInfo, timeout_s: float = 5) -> mesos_pb2.TaskInfo:
    check.delay_seconds, check.interval_seconds, check.timeout_seconds = 0, 0.01, timeout_s
    return mesos_pb2.TaskInfo(check=check)


def http(status: str, *headers: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", "Content-Length: 2", *headers, "", "ok"]).encode()


async def test_a_failing_command_is_told_each_time_and_ends_hopeless() -> None:
    async def fail(command: mesos_pb2.CommandInfo) -> int:
        assert command.value == "exit 3"
        return EXIT_3

    async with watching(quick(Health(command=mesos_pb2.CommandInfo(value="exit 3"))), fail) as (ear, _):
        assert [await ear.next() for _ in range(3)] == [False, False, "hopeless"]


async def test_a_command_that_takes_too_long_is_cancelled_and_counts_as_failed() -> None:
    ended = asyncio.Event()

    async def hang(command: mesos_pb2.CommandInfo) -> int:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return 0

    async with watching(quick(Health(command=mesos_pb2.CommandInfo(value="x")), timeout_s=0.02), hang) as (ear, _):
        assert await ear.next() is False
    assert ended.is_set()


async def test_a_look_that_did_not_take_place_is_not_told() -> None:
    looks = iter([NotLooked("the agent is away"), None])

    async def run(command: mesos_pb2.CommandInfo) -> int:
        if (problem := next(looks, None)) is not None:
            raise problem
        return 0

    async with watching(quick(Health(command=mesos_pb2.CommandInfo(value="x")), failures=1), run) as (ear, _):
        assert await ear.next() is True


async def test_a_command_that_cannot_be_run_is_a_failure() -> None:
    async def run(command: mesos_pb2.CommandInfo) -> int:
        raise OSError("no such file")

    async with watching(quick(Health(command=mesos_pb2.CommandInfo(value="x"))), run) as (ear, _):
        assert await ear.next() is False


async def test_a_command_check_tells_each_changed_exit_code() -> None:
    results = iter([0, 0, EXIT_3, 9, EXIT_3])

    async def run(command: mesos_pb2.CommandInfo) -> int:
        return next(results, EXIT_3)

    check = mesos_pb2.CheckInfo(type=mesos_pb2.CheckInfo.COMMAND)
    check.command.command.value = "x"
    async with watching(quick_check(check), run) as (ear, _):
        assert [await ear.next() for _ in range(4)] == ["0", "3", "nothing", "3"]


@pytest.mark.parametrize(
    ("answer", "is_healthy"),
    [(http("200 OK"), True), (http("399 Odd"), True), (http("400 Bad"), False), (b"no HTTP at all\r\n\r\n", False)],
)
async def test_http_statuses_from_200_to_399_are_healthy(answer: bytes, is_healthy: bool) -> None:
    async with serving(answer) as port, watching(quick(Health(http=Health.HTTPCheckInfo(port=port)))) as (ear, _):
        assert await ear.next() is is_healthy


async def test_an_http_check_tells_the_status_code_even_of_an_odd_path() -> None:
    check = mesos_pb2.CheckInfo(type=mesos_pb2.CheckInfo.HTTP)
    async with serving(http("503 Later")) as port:
        check.http.port, check.http.path = port, "/with space/ünd?q=1"
        async with watching(quick_check(check)) as (ear, _):
            assert await ear.next() == "503"


async def test_redirects_are_followed() -> None:
    async with serving(http("503 Later")) as there:
        away = http("302 Found", f"Location: http://127.0.0.1:{there}/x")
        async with serving(away) as here, watching(quick(Health(http=Health.HTTPCheckInfo(port=here)))) as (ear, _):
            assert await ear.next() is False


async def test_a_redirect_to_nowhere_is_an_answer_itself() -> None:
    away = http("302 Found", "Location: ftp://[nowhere")
    async with serving(away) as port, watching(quick(Health(http=Health.HTTPCheckInfo(port=port)))) as (ear, _):
        assert await ear.next() is True


async def test_a_server_that_never_answers_is_cut_at_the_time_out() -> None:
    health = Health(http=Health.HTTPCheckInfo(port=1))
    async with serving(None) as port:
        health.http.port = port
        async with watching(quick(health, timeout_s=0.05)) as (ear, _):
            assert await ear.next() is False


async def test_a_port_where_somebody_listens_is_healthy_and_a_closed_one_is_not() -> None:
    async with serving(None) as port, watching(quick(Health(tcp=Health.TCPCheckInfo(port=port)))) as (ear, _):
        assert await ear.next() is True
    async with watching(quick(Health(tcp=Health.TCPCheckInfo(port=port)))) as (ear, _):
        assert await ear.next() is False


async def test_ipv6_is_looked_at_where_asked_for() -> None:
    check = Health.TCPCheckInfo(port=1, protocol=mesos_pb2.NetworkInfo.IPv6)
    async with serving(None, "::1") as port:
        check.port = port
        async with watching(quick(Health(tcp=check))) as (ear, _):
            assert await ear.next() is True


async def test_nothing_is_told_while_paused_and_a_look_follows_at_once_on_resume() -> None:
    asked: asyncio.Queue[asyncio.Future[int]] = asyncio.Queue()

    async def run(command: mesos_pb2.CommandInfo) -> int:
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        asked.put_nowait(answer)
        return await answer

    task = quick(Health(command=mesos_pb2.CommandInfo(value="x")))
    async with watching(task, run) as (ear, checks):
        first = await asked.get()
        task.health_check.delay_seconds = 3600

        checks.pause()
        checks.pause()
        checks.resume()
        checks.resume()

        (await asked.get()).set_result(0)
        assert first.cancelled()
        assert await ear.next() is True
        assert ear.news.empty()


async def test_nothing_is_left_after_close() -> None:
    async with serving(None) as port:
        async with watching(quick(Health(http=Health.HTTPCheckInfo(port=port)))) as (ear, checks):
            await checks.close()
            await checks.close()
            assert [task for task in asyncio.all_tasks() if "_Watch" in repr(task)] == []
        assert ear.news.empty()


async def test_close_waits_until_a_command_that_was_paused_before_has_been_ended() -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()
    ended: list[bool] = []

    async def run(command: mesos_pb2.CommandInfo) -> int:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            await may_end.wait()
            ended.append(True)
        return 0

    async with watching(quick(Health(command=mesos_pb2.CommandInfo(value="x"))), run) as (_, checks):
        await begun.wait()
        checks.pause()
        closing = asyncio.create_task(checks.close())
        await asyncio.wait([closing], timeout=0.01)
        assert not closing.done()

        may_end.set()
        await closing

    assert ended == [True]
