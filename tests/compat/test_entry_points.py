"""Whatever comes in by HTTP: no 500, no hang, nothing that stays."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.chaos.daemons import Cluster, Daemon
from tests.compat.strange_requests import StrangeRequest, StrangeRequests

REQUESTS = 1500
AT_ONCE = 4
PATIENCE_S = 20.0
MANY = 10_000
ROOM_KB = 2048
ORDINARY = (
    ("GET", "/state", b""),
    ("GET", "/metrics/snapshot", b""),
    ("GET", "/files/read?path=/nothing&offset=0", b""),
    ("POST", "/api/v1", b'{"type":"GET_STATE"}'),
    ("POST", "/api/v1", b'{"type":"GET_TASKS"}'),
    ("POST", "/api/v1", b'{"type":"READ_FILE","read_file":{"path":"/x","offset":0}}'),
    ("POST", "/api/v1", b"{}"),
)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    running = Cluster(tmp_path, f"TFMESOS_ENTRY={os.getpid()}")
    running.start()
    try:
        yield running
    finally:
        running.stop()


def daemon_of(cluster: Cluster, program: str) -> tuple[Daemon, int]:
    """A program and the port that it serves."""
    if program == "master":
        return cluster.master, int(cluster.address.rpartition(":")[2])
    return cluster.agent, cluster.agent_port


@pytest.mark.parametrize("program", ["master", "agent"])
async def test_no_request_makes_a_daemon_fail_or_hang(cluster: Cluster, program: str) -> None:
    daemon, port = daemon_of(cluster, program)
    seed = Random().randrange(1 << 32)
    requests = StrangeRequests(program, Random(seed))
    faults: list[str] = []

    async def visit() -> None:
        for _ in range(REQUESTS // AT_ONCE):
            request = requests.make()
            answer = await answer_to(request, port)
            if answer is None or answer[9:12] == b"500":
                faults.append(f"seed {seed}: {answer!r} to {request}")

    await asyncio.gather(*(visit() for _ in range(AT_ONCE)))

    assert not faults, "\n".join(faults[:5])
    assert daemon.is_running
    assert "Traceback" not in daemon.log()
    health = StrangeRequest(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
    assert (await answer_to(health, port) or b"").startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("program", ["master", "agent"])
async def test_ten_thousand_requests_leave_nothing_that_a_thousand_have_not(cluster: Cluster, program: str) -> None:
    daemon, port = daemon_of(cluster, program)
    assert daemon.process is not None
    await ask_often(port, 1000)
    memory_kb, descriptors = resident_kb(daemon.process.pid), open_descriptors(daemon.process.pid)

    await ask_often(port, MANY - 1000)

    assert resident_kb(daemon.process.pid) <= memory_kb + ROOM_KB
    async with asyncio.timeout(PATIENCE_S):
        while open_descriptors(daemon.process.pid) > descriptors:  # the last connection may take a moment to end
            await ask_often(port, 100)


async def answer_to(request: StrangeRequest, port: int) -> bytes | None:
    """The beginning of the answer, nothing if there is only the end of the connection, None if there is neither."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(PATIENCE_S):
            writer.write(request.data)
            if not request.is_complete:
                writer.write_eof()
            return await reader.read(200)
    except ConnectionError:
        return b""
    except TimeoutError:
        return None
    finally:
        writer.close()


async def ask_often(port: int, times: int) -> None:
    """Ordinary requests, a hundred on each connection."""
    for _ in range(times // 100):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in range(100):
            method, path, body = ORDINARY[number % len(ORDINARY)]
            head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = int(answer.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            await reader.readexactly(length)
        writer.close()
        await writer.wait_closed()


def resident_kb(pid: int) -> int:
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def open_descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))
