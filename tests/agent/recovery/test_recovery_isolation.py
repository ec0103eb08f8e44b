"""Containers that are kept apart, over a restart of their agent."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator

import pytest

from tests.agent.conftest import running_agent
from tests.agent.in_test_master import InTestMaster, command_task
from tests.agent.recovery.test_recovery_executors import echo_executor, registered
from tests.agent.recovery.test_recovery_tasks import checkpointed, clean_up
from tests.agent.test_executor_api import executor_task
from tests.agent.test_isolated_tasks import EAT, OUT_OF_MEMORY, memory_of, with_mem
from tests.agent.waiting import eventually
from tests.ports import free_port
from tfmesos.agent import AgentFlags
from tfmesos.wire import internal_pb2, mesos_pb2

pytestmark = [pytest.mark.root, pytest.mark.cgroups]


@pytest.fixture
def flags(flags: AgentFlags, cgroups_root: str) -> AgentFlags:
    """Executors find the next agent at the same address."""
    return dataclasses.replace(flags, port=free_port(), isolation="cgroups/mem", cgroups_root=cgroups_root)


@pytest.fixture(autouse=True)
async def nothing_left(flags: AgentFlags, master: InTestMaster) -> AsyncIterator[None]:
    yield
    await clean_up(flags, master)


async def test_the_next_agent_resizes_containers_of_executors(
    flags: AgentFlags, master: InTestMaster, cgroups_root: str
) -> None:
    executor = echo_executor()
    async with running_agent(flags, master):
        await registered(master)
        for task_id, mem in (("a", 64), ("b", 128)):
            master.run(with_mem(executor_task(task_id, executor), mem), checkpointed())
            await master.wait_for_state(task_id, mesos_pb2.TASK_RUNNING)

    async with running_agent(flags, master):
        await master.wait_for(internal_pb2.ReregisterSlaveMessage)
        master.kill("b")
        await master.wait_for_end("b")
        assert memory_of(cgroups_root, "memory.soft_limit_in_bytes") == 32 + 64
        master.run(with_mem(executor_task("c", executor), 256), checkpointed())
        await master.wait_for_state("c", mesos_pb2.TASK_RUNNING)
        assert memory_of(cgroups_root, "memory.limit_in_bytes") == 32 + 64 + 256


async def test_a_task_that_passes_its_limit_while_no_agent_runs_is_told_of_by_the_next(
    flags: AgentFlags, master: InTestMaster, cgroups_root: str
) -> None:
    async with running_agent(flags, master):
        await registered(master)
        master.run(with_mem(command_task("a", f"sleep 0.5; {EAT}"), 64), checkpointed())
        await master.wait_for_state("a", mesos_pb2.TASK_RUNNING)
    await eventually(lambda: memory_of(cgroups_root, "memory.failcnt", 1) > 0)

    async with running_agent(flags, master):
        ended = await master.wait_for_end("a")

    assert (ended.state, ended.reason) == (mesos_pb2.TASK_FAILED, OUT_OF_MEMORY)
    assert "Memory limit exceeded: Requested: 64MB" in ended.message
