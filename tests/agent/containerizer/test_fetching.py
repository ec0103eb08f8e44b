"""Launches that fetch."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.agent.containerizer.conftest import Configure, output
from tfmesos.agent.containerizer import ContainerId, Containerizer, LaunchFailed
from tfmesos.wire import mesos_pb2


def _command(line: str, uri: str) -> mesos_pb2.CommandInfo:
    command = mesos_pb2.CommandInfo(value=line)
    command.uris.add(value=uri)
    return command


async def test_what_was_fetched_is_there_when_the_program_starts(
    containerizer: Containerizer, configure: Configure, tmp_path: Path
) -> None:
    (tmp_path / "data").write_text("brought")
    container = await containerizer.launch(configure("", command=_command("cat data", f"{tmp_path}/data")))
    await container.open_gate()

    await container.wait()

    assert output(container) == "brought"
    assert f"Fetched '{tmp_path}/data'" in output(container, "stderr")


async def test_a_failed_fetch_has_mesos_text(containerizer: Containerizer, configure: Configure) -> None:
    with pytest.raises(LaunchFailed) as failed:
        await containerizer.launch(configure("", command=_command("true", "/no/such")))

    reason = "Failed to fetch '/no/such': there is no file '/no/such'"
    assert str(failed.value) == f"Failed to fetch all URIs for container 'c': exited with status 1: {reason}"
    assert containerizer.find(ContainerId("c")) is None


async def test_a_fetch_under_way_is_cut_off(containerizer: Containerizer, configure: Configure, tmp_path: Path) -> None:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await reader.read()
        writer.close()

    asked = asyncio.Event()
    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    config = configure("", command=_command("true", f"http://127.0.0.1:{port}/f"))
    launch = asyncio.create_task(containerizer.launch(config))
    await asked.wait()

    assert containerizer.abort(config.id)

    with pytest.raises(LaunchFailed, match="destroyed"):
        await launch
    server.close()
    await server.wait_closed()
