"""Tasks whose command brings URIs along."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from tests.agent.in_test_master import InTestMaster, command_task
from tfmesos.agent import Agent
from tfmesos.wire import mesos_pb2

_Status = mesos_pb2.TaskStatus


async def test_a_failed_fetch_fails_the_task_with_mesos_text(agent: Agent, master: InTestMaster) -> None:
    task = command_task("t")
    task.command.uris.add(value="/no/such/file")
    master.run(task)

    status = await master.wait_for_end("t")

    assert (status.state, status.source) == (mesos_pb2.TASK_FAILED, _Status.SOURCE_AGENT)
    assert status.reason == _Status.REASON_CONTAINER_LAUNCH_FAILED
    assert re.fullmatch(
        r"Failed to launch container: Failed to fetch all URIs for container '[0-9a-f-]{36}': exited with status 1: "
        r"Failed to fetch '/no/such/file': there is no file '/no/such/file'",
        status.message,
    )


async def test_what_was_fetched_is_there(agent: Agent, master: InTestMaster, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("x")
    task = command_task("t", "test -s data")
    task.command.uris.add(value=f"{tmp_path}/data")
    master.run(task)

    status = await master.wait_for_end("t")

    assert status.state == mesos_pb2.TASK_FINISHED


async def test_a_kill_ends_the_fetching(agent: Agent, master: InTestMaster) -> None:
    asked, gone = asyncio.Event(), asyncio.Event()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        while await reader.read(1024):
            pass
        writer.close()
        gone.set()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    task = command_task("t")
    task.command.uris.add(value=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/f")
    master.run(task)
    await asked.wait()

    master.kill("t")

    status = await master.wait_for_end("t")
    assert status.state == mesos_pb2.TASK_KILLED
    await asyncio.wait_for(gone.wait(), 20)
    server.close()
    await server.wait_closed()
