"""Tasks of an agent that isolates: limits that they pass, and executors' containers that grow and shrink with them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agent.conftest import running_agent
from tests.agent.in_test_master import FRAMEWORK_ID, InTestMaster, command_task, framework
from tests.agent.test_executor_api import custom_executor, executor_task, states, wait_running
from tfmesos.agent import Agent, AgentFlags
from tfmesos.cgroups import Hierarchies
from tfmesos.transport import HttpConnection
from tfmesos.wire import agent_pb2, internal_pb2, mesos_pb2

pytestmark = [pytest.mark.root, pytest.mark.cgroups]

EAT = "exec tail /dev/zero"
"""Needs memory without end."""
OUT_OF_MEMORY = mesos_pb2.TaskStatus.REASON_CONTAINER_LIMITATION_MEMORY
PROTOBUF = {"Content-Type": "application/x-protobuf", "Accept": "application/x-protobuf"}


@pytest.fixture
def flags(flags: AgentFlags, cgroups_root: str) -> AgentFlags:
    return replace(flags, isolation="cgroups/cpu,cgroups/mem", cgroups_root=cgroups_root)


@pytest.fixture
async def agent(flags: AgentFlags, master: InTestMaster) -> AsyncIterator[Agent]:
    async with running_agent(flags, master) as running:
        await master.wait_for(internal_pb2.RegisterSlaveMessage)
        yield running


def with_mem(task: mesos_pb2.TaskInfo, mem: float) -> mesos_pb2.TaskInfo:
    task.resources.add(name="mem", type=mesos_pb2.Value.SCALAR).scalar.value = mem
    return task


def default_executor(mem: float) -> mesos_pb2.ExecutorInfo:
    info = mesos_pb2.ExecutorInfo(type=mesos_pb2.ExecutorInfo.DEFAULT)
    info.executor_id.value, info.framework_id.value = "ex", FRAMEWORK_ID
    info.resources.add(name="mem", type=mesos_pb2.Value.SCALAR).scalar.value = mem
    return info


def run_group(master: InTestMaster, executor: mesos_pb2.ExecutorInfo, *tasks: mesos_pb2.TaskInfo) -> None:
    message = internal_pb2.RunTaskGroupMessage(framework=framework(), launch_executor=True, executor=executor)
    message.task_group.tasks.extend(tasks)
    master.send(message)


def memory_of(root: str, name: str, unit: int = 1024**2) -> int:
    """What one file of the memory of the only container says, in MiB."""
    (path,) = Path(Hierarchies.detect().path_of("memory") or "", root).glob(f"*/{name}")
    return int(path.read_text()) // unit


async def test_a_task_that_passes_its_limit_of_memory_is_told_of_with_what_it_used_and_the_limit(
    agent: Agent, master: InTestMaster
) -> None:
    master.run(with_mem(command_task("a", EAT), 64))

    ended = await master.wait_for_end("a")

    assert (ended.state, ended.reason) == (mesos_pb2.TASK_FAILED, OUT_OF_MEMORY)
    assert ended.message.startswith(
        "Memory limit exceeded: Requested: 64MB Maximum Used: 64MB\n\nMEMORY STATISTICS: \n"
    )
    assert ended.source == mesos_pb2.TaskStatus.SOURCE_AGENT
    (used,) = ended.limitation.resources
    assert (used.name, used.scalar.value) == ("mem", 64)


async def test_an_executor_that_passes_the_limit_takes_its_tasks_with_it(agent: Agent, master: InTestMaster) -> None:
    executor = custom_executor()
    executor.command.shell, executor.command.value = True, EAT
    del executor.command.arguments[:]
    master.run(executor_task("a", executor))

    ended = await master.wait_for_end("a")

    assert (ended.state, ended.reason) == (mesos_pb2.TASK_FAILED, OUT_OF_MEMORY)
    assert "Memory limit exceeded" in ended.message
    assert [item.name for item in ended.limitation.resources] == ["mem"]


async def test_members_of_a_group_share_a_limit_unless_they_say_otherwise(agent: Agent, master: InTestMaster) -> None:
    run_group(
        master, default_executor(64), with_mem(command_task("a", EAT), 32), with_mem(command_task("b", "sleep 99"), 32)
    )

    ends = [await master.wait_for_end(task_id) for task_id in ("a", "b")]

    assert [(end.state, end.reason) for end in ends] == [(mesos_pb2.TASK_FAILED, OUT_OF_MEMORY)] * 2
    assert "Requested: 128MB" in ends[0].message


async def test_a_member_with_cgroups_of_its_own_has_a_limit_of_its_own(agent: Agent, master: InTestMaster) -> None:
    tasks = [with_mem(command_task("a", EAT), 32), with_mem(command_task("b", "sleep 99"), 32)]
    for task in tasks:
        task.container.type = mesos_pb2.ContainerInfo.MESOS
        task.container.linux_info.share_cgroups = False
    run_group(master, default_executor(128), *tasks)

    failed, killed = [await master.wait_for_end(task_id) for task_id in ("a", "b")]

    assert (failed.state, failed.reason) == (mesos_pb2.TASK_FAILED, OUT_OF_MEMORY)
    assert "Memory limit exceeded: Requested: 32MB" in failed.message
    assert [item.name for item in failed.limitation.resources] == ["mem"]
    assert killed.state == mesos_pb2.TASK_KILLED


async def test_the_container_of_an_executor_grows_before_a_task_runs_and_shrinks_before_its_end_is_told(
    agent: Agent, master: InTestMaster, cgroups_root: str
) -> None:
    executor = custom_executor()
    master.run(with_mem(executor_task("a", executor), 64))
    await wait_running(master, "a")
    assert memory_of(cgroups_root, "memory.limit_in_bytes") == 32 + 64

    master.run(with_mem(executor_task("b", executor), 128))
    await wait_running(master, "b")
    assert memory_of(cgroups_root, "memory.limit_in_bytes") == 32 + 64 + 128

    master.kill("a")
    await master.wait_for_end("a")
    assert memory_of(cgroups_root, "memory.soft_limit_in_bytes") == 32 + 128
    assert states(master, "a") == ["TASK_STARTING", "TASK_RUNNING", "TASK_KILLED"]


async def test_statistics_tell_of_all_that_an_executor_and_its_tasks_may_use(
    agent: Agent, master: InTestMaster, http: HttpConnection
) -> None:
    executor = custom_executor()
    for task_id in ("a", "b"):
        master.run(with_mem(executor_task(task_id, executor), 64))
    await wait_running(master, "a", "b")

    (entry,) = json.loads((await http.request("GET", "/containers")).body)

    assert entry["statistics"]["mem_soft_limit_bytes"] == (32 + 64 + 64) * 1024**2
    assert entry["statistics"]["cpus_soft_limit"] == 0.2


async def test_statistics_tell_the_limit_and_the_use(agent: Agent, master: InTestMaster, http: HttpConnection) -> None:
    master.run(with_mem(command_task("a", "sleep 99"), 64))
    await master.wait_for_state("a", mesos_pb2.TASK_RUNNING)

    call = agent_pb2.Call(type=agent_pb2.Call.GET_CONTAINERS)
    answer = await http.request("POST", "/api/v1", headers=PROTOBUF, body=call.SerializeToString())

    told = agent_pb2.Response.FromString(answer.body)
    (container,) = told.get_containers.containers
    used = container.resource_statistics
    assert used.mem_limit_bytes == 64 * 1024**2
    assert 0 < used.mem_total_bytes < used.mem_limit_bytes
    assert used.cpus_soft_limit == 0.1
