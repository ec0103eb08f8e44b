"""An agent at the in-test master."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from tests.agent.in_test_master import FixedDetector, InTestMaster, in_test_master
from tests.cgroup_trees import cgroups_below
from tfmesos.agent import Agent, AgentFlags
from tfmesos.cgroups import Hierarchies
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


@pytest.fixture
def cgroups_root() -> Iterator[str]:
    """A root of cgroups that only this test knows, and in which it leaves nothing."""
    faults = map(Hierarchies.detect().faults, ("devices", "memory", "cpu", "pids", "freezer"))
    fault = next(filter(None, faults), None)
    if os.geteuid() != 0 or fault is not None:
        pytest.skip(fault or "needs root")
    root = f"test-{uuid.uuid4().hex[:12]}"
    yield root
    left = cgroups_below(root)
    for path in reversed(left):
        with suppress(OSError):
            path.rmdir()
    assert left == []


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
