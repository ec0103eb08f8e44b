"""Executors with a program of their own, over a restart of their agent."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.agent.conftest import running_agent
from tests.agent.in_test_master import AGENT_ID, FRAMEWORK_ID, FixedDetector, InTestMaster, command_task
from tests.agent.recovery.test_recovery_tasks import checkpointed, clean_up
from tests.agent.test_executor_api import custom_executor, executor_task
from tests.agent.waiting import eventually
from tests.ports import free_port
from tfmesos.agent import Agent, AgentFlags
from tfmesos.transport import HttpConnection, TcpAddress
from tfmesos.wire import internal_pb2, mesos_pb2

ECHO = Path(__file__).parents[2] / "executors" / "echo_executor.py"


@pytest.fixture
def flags(flags: AgentFlags) -> AgentFlags:
    """Executors find the next agent at the same address."""
    return dataclasses.replace(flags, port=free_port())


@pytest.fixture(autouse=True)
async def nothing_left(flags: AgentFlags, master: InTestMaster) -> AsyncIterator[None]:
    """What the last agent has left to the next one ends with the test."""
    yield
    await clean_up(flags, master)


def echo_executor() -> mesos_pb2.ExecutorInfo:
    executor = custom_executor()
    del executor.command.arguments[:]
    executor.command.arguments.extend([sys.executable, str(ECHO)])
    return executor


async def registered(master: InTestMaster) -> None:
    await master.wait_for(internal_pb2.RegisterSlaveMessage)
    master.ping()
    await master.wait_for(internal_pb2.PongSlaveMessage)


async def test_a_custom_executor_and_its_tasks_go_on(flags: AgentFlags, master: InTestMaster) -> None:
    executor = echo_executor()
    async with running_agent(flags, master):
        await registered(master)
        master.run(executor_task("a", executor), checkpointed())
        master.run(executor_task("b", executor), checkpointed())
        for task_id in "ab":
            await master.wait_for_state(task_id, mesos_pb2.TASK_RUNNING)

    async with running_agent(flags, master):
        again = await master.wait_for(internal_pb2.ReregisterSlaveMessage)
        master.send(message_to(executor, b"finish"))
        finished = await master.wait_for_end("a")
        master.kill("b")
        killed = await master.wait_for_end("b")
        master.run(executor_task("c", executor), checkpointed())
        await master.wait_for_state("c", mesos_pb2.TASK_RUNNING)

    assert [info.executor_id.value for info in again.executor_infos] == ["ex"]
    assert sorted((task.task_id.value, task.state) for task in again.tasks) == [
        ("a", mesos_pb2.TASK_RUNNING),
        ("b", mesos_pb2.TASK_RUNNING),
    ]
    assert (finished.state, killed.state) == (mesos_pb2.TASK_FINISHED, mesos_pb2.TASK_KILLED)
    assert [len(master.updates(task_id)) for task_id in "abc"] == [2, 2, 1]


def message_to(executor: mesos_pb2.ExecutorInfo, data: bytes) -> internal_pb2.FrameworkToExecutorMessage:
    message = internal_pb2.FrameworkToExecutorMessage(data=data)
    message.slave_id.value = AGENT_ID
    message.framework_id.value = FRAMEWORK_ID
    message.executor_id.CopyFrom(executor.executor_id)
    return message


async def test_an_executor_that_does_not_come_back_is_given_up(flags: AgentFlags, master: InTestMaster) -> None:
    async with running_agent(flags, master):
        await registered(master)
        master.run(executor_task("t", custom_executor()), checkpointed())
        await master.wait_for_state("t", mesos_pb2.TASK_RUNNING)

    patient = dataclasses.replace(flags, executor_reregistration_timeout=0.5)
    agent = Agent(patient, detector=FixedDetector(master.leader))
    starting = asyncio.create_task(agent.start())
    state = await eventually_connected(flags.port)
    answer = await state.request("GET", "/state")
    await starting
    end = await master.wait_for_end("t")
    answer_later = await state.request("GET", "/state")
    await state.close()
    await agent.close()

    assert (answer.status, answer.body) == (503, b"Agent has not finished recovery")
    assert answer_later.status == 200
    assert (end.state, end.reason) == (
        mesos_pb2.TASK_GONE,
        mesos_pb2.TaskStatus.REASON_EXECUTOR_REREGISTRATION_TIMEOUT,
    )
    assert end.message == "Executor did not reregister within 500ms"


async def eventually_connected(port: int) -> HttpConnection:
    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    await eventually(listens)
    return await HttpConnection.open(TcpAddress("127.0.0.1", port))


async def test_a_group_of_tasks_goes_on(flags: AgentFlags, master: InTestMaster, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    executor = mesos_pb2.ExecutorInfo(type=mesos_pb2.ExecutorInfo.DEFAULT)
    executor.executor_id.value, executor.framework_id.value = "default", FRAMEWORK_ID
    executor.resources.add(name="mem", type=mesos_pb2.Value.SCALAR).scalar.value = 32
    group = internal_pb2.RunTaskGroupMessage(framework=checkpointed(), executor=executor)
    group.task_group.tasks.extend([command_task("a", f"read x < {gate}; exit 0"), command_task("b", "sleep 1000")])
    async with running_agent(flags, master):
        await registered(master)
        master.send(group)
        for task_id in "ab":
            await master.wait_for_state(task_id, mesos_pb2.TASK_RUNNING)

    async with running_agent(flags, master):
        await master.wait_for(internal_pb2.ReregisterSlaveMessage)
        await asyncio.to_thread(gate.write_text, "go on\n")
        finished = await master.wait_for_end("a")
        master.kill("b")
        killed = await master.wait_for_end("b")
        exited = await master.wait_for(internal_pb2.ExitedExecutorMessage)

    assert (finished.state, finished.message) == (mesos_pb2.TASK_FINISHED, "Command exited with status 0")
    assert (killed.state, killed.message) == (mesos_pb2.TASK_KILLED, "Command terminated with signal Terminated")
    assert exited.status == 0
