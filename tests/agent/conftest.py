"""An agent at the in-test master."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.agent.in_test_master import FixedDetector, InTestMaster, in_test_master
from tfmesos.agent import Agent, AgentFlags
from tfmesos.transport import HttpConnection
from tfmesos.wire import internal_pb2


@pytest.fixture
async def master() -> AsyncIterator[InTestMaster]:
    async with in_test_master() as running:
        yield running


@pytest.fixture
def flags(tmp_path: Path) -> AgentFlags:
    return AgentFlags(
        master="in-test",
        ip="127.0.0.1",
        port=0,
        work_dir=str(tmp_path / "agent"),
        hostname="here",
        resources="cpus:4;mem:4096;disk:1024;ports:[31000-32000]",
        attributes="rack:a;level:3",
        switch_user=False,
        registration_backoff_factor=0.0,
    )


@asynccontextmanager
async def running_agent(flags: AgentFlags, master: InTestMaster) -> AsyncIterator[Agent]:
    """An agent that has found the master."""
    agent = Agent(flags, detector=FixedDetector(master.leader))
    await agent.start()
    try:
        yield agent
    finally:
        await agent.close()


@pytest.fixture
async def agent(flags: AgentFlags, master: InTestMaster) -> AsyncIterator[Agent]:
    """A registered agent."""
    async with running_agent(flags, master) as running:
        await master.wait_for(internal_pb2.RegisterSlaveMessage)
        master.ping()
        await master.wait_for(internal_pb2.PongSlaveMessage)
        yield running


@pytest.fixture
async def http(agent: Agent) -> AsyncIterator[HttpConnection]:
    """A connection to the agent's endpoints."""
    connection = await HttpConnection.open(agent.address)
    yield connection
    await connection.close()
