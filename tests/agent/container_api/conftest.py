"""The container calls on an HTTP server, without an agent around them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from tfmesos.agent import AgentFlags
from tfmesos.agent.container_api import ContainerApi
from tfmesos.agent.containerizer import Container, ContainerConfig, ContainerId, Containerizer, ContainerKind
from tfmesos.agent.sandboxes.work_dir import WorkDir
from tfmesos.client.agent import AgentClient
from tfmesos.supervision import Supervisors
from tfmesos.transport import Address, HttpServer, TcpAddress
from tfmesos.wire import agent_pb2, mesos_pb2
from tfmesos.wire.media import read_call

HEARTBEAT_S = 0.05


@pytest.fixture
async def containerizer(tmp_path: Path) -> AsyncIterator[Containerizer]:
    flags = AgentFlags(master="none", work_dir=str(tmp_path), switch_user=False)
    running = Containerizer(flags, Supervisors())
    await running.start()
    yield running
    await running.close(end_detached=True)


@pytest.fixture
async def address(containerizer: Containerizer, tmp_path: Path) -> AsyncIterator[Address]:
    api = ContainerApi(containerizer, WorkDir(tmp_path), HEARTBEAT_S)

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        if request.headers["Content-Type"] == "application/recordio":
            return await api.handle_stream(request)
        call = read_call(agent_pb2.Call, request.headers["Content-Type"], await request.read())
        return await api.handle(call, request)

    server = await HttpServer.start(answer, TcpAddress("127.0.0.1", 0))
    yield server.address
    await server.close()


def launch_call(line: str, container_id: ContainerId) -> agent_pb2.Call.LaunchContainer:
    return agent_pb2.Call.LaunchContainer(
        container_id=container_id.to_proto(), command=mesos_pb2.CommandInfo(value=line)
    )


@pytest.fixture
async def root(containerizer: Containerizer, tmp_path: Path) -> Container:
    """What an executor's container is."""
    config = ContainerConfig(
        id=ContainerId("root"),
        kind=ContainerKind.EXECUTOR,
        command=mesos_pb2.CommandInfo(value="sleep 60"),
        directory=str(tmp_path / "root"),
    )
    container = await containerizer.launch(config)
    await container.open_gate()
    return container


@pytest.fixture
async def client(address: Address) -> AsyncIterator[AgentClient]:
    running = AgentClient(address)
    yield running
    await running.close()
