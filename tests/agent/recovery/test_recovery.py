"""An agent that starts again on the same work directory."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.agent.conftest import running_agent
from tests.agent.in_test_master import AGENT_ID, FixedDetector, InTestMaster
from tfmesos.agent import Agent, AgentFlags
from tfmesos.agent.errors import AgentChanged, CheckpointUnusable
from tfmesos.transport import HttpConnection
from tfmesos.wire import internal_pb2


@asynccontextmanager
async def registered(flags: AgentFlags, master: InTestMaster) -> AsyncIterator[Agent]:
    """An agent, once it has registered for the first time."""
    async with running_agent(flags, master) as agent:
        await master.wait_for(internal_pb2.RegisterSlaveMessage)
        master.ping()
        await master.wait_for(internal_pb2.PongSlaveMessage)
        yield agent


async def test_it_is_the_same_agent_again(flags: AgentFlags, master: InTestMaster) -> None:
    async with registered(flags, master):
        pass

    async with running_agent(flags, master):
        again = await master.wait_for(internal_pb2.ReregisterSlaveMessage)

    assert again.slave.id.value == AGENT_ID
    assert (list(again.tasks), list(again.frameworks)) == ([], [])


async def test_reservations_are_told_again(flags: AgentFlags, master: InTestMaster) -> None:
    message = internal_pb2.CheckpointResourcesMessage()
    message.resources.add(name="cpus", type=0).scalar.value = 1
    async with registered(flags, master):
        master.send(message)
        master.ping()
        await master.wait_for(internal_pb2.PongSlaveMessage, count=2)

    async with running_agent(flags, master):
        again = await master.wait_for(internal_pb2.ReregisterSlaveMessage)

    assert list(again.checkpointed_resources) == list(message.resources)


async def test_a_changed_agent_does_not_start(flags: AgentFlags, master: InTestMaster) -> None:
    async with registered(flags, master):
        pass
    changed = dataclasses.replace(flags, resources="cpus:8;mem:4096;disk:1024;ports:[31000-32000]")

    with pytest.raises(AgentChanged, match="its resources were cpus:4"):
        await Agent(changed, detector=FixedDetector(master.leader)).start()

    grown = dataclasses.replace(changed, reconfiguration_policy="additive")
    async with running_agent(grown, master):
        again = await master.wait_for(internal_pb2.ReregisterSlaveMessage)
    assert again.slave.id.value == AGENT_ID


async def test_damaged_checkpoints_stop_it_unless_they_may_be_left_out(flags: AgentFlags, master: InTestMaster) -> None:
    async with registered(flags, master):
        pass
    path = Path(flags.work_dir) / "meta" / "agent.journal"
    contents = path.read_bytes()
    path.write_bytes(contents + bytes(8) + contents[contents.index(b"\n") + 1 :])

    with pytest.raises(CheckpointUnusable, match=f"{path}: damaged at byte {len(contents)}, .*--no-strict"):
        await Agent(flags, detector=FixedDetector(master.leader)).start()

    async with running_agent(dataclasses.replace(flags, strict=False), master) as agent:
        again = await master.wait_for(internal_pb2.ReregisterSlaveMessage)
        http = await HttpConnection.open(agent.address)
        metrics = json.loads((await http.request("GET", "/metrics/snapshot")).body)
        await http.close()
    assert again.slave.id.value == AGENT_ID
    assert metrics["slave/recovery_errors"] == 1
    assert 0 < metrics["slave/recovery_time_secs"] < 20
