"""The container calls of the agent client against the fake agent."""

import asyncio
from collections.abc import AsyncIterator
from signal import SIGKILL

import pytest

from tests.client.fake_agent import FakeAgent
from tfmesos.client import AgentClient, CallRejected
from tfmesos.wire import agent_pb2, mesos_pb2

ID = mesos_pb2.ContainerID(value="c", parent=mesos_pb2.ContainerID(value="p"))
STDIN = agent_pb2.ProcessIO.Data.STDIN


@pytest.fixture
async def agent() -> AsyncIterator[FakeAgent]:
    agent = FakeAgent()
    await agent.start()
    yield agent
    await agent.close()


def launch(command: str) -> agent_pb2.Call.LaunchContainer:
    return agent_pb2.Call.LaunchContainer(container_id=ID, command=mesos_pb2.CommandInfo(value=command))


async def test_a_container_from_launch_to_removal(agent: FakeAgent) -> None:
    client = AgentClient(agent.address)
    assert await client.launch_container(launch("x"))
    assert not await client.launch_container(launch("x"))
    waiting = asyncio.create_task(client.wait_container(ID))

    assert await client.kill_container(ID, SIGKILL)

    result = await waiting
    assert result is not None
    assert result.exit_status == SIGKILL
    assert await client.remove_container(ID)
    assert await client.wait_container(ID) is None
    assert not await client.kill_container(ID, SIGKILL)
    assert not await client.remove_container(ID)


async def test_a_refused_launch_says_why(agent: FakeAgent) -> None:
    agent.launch_refusals["bad"] = (400, "no such image")
    with pytest.raises(CallRejected, match=r"LAUNCH_CONTAINER refused \(400\): no such image"):
        await AgentClient(agent.address).launch_container(launch("bad"))


async def test_a_sessions_output_is_read_and_leaving_it_ends_it(agent: FakeAgent) -> None:
    async with AgentClient(agent.address).session(ID, mesos_pb2.CommandInfo(value="hang")) as output:
        assert (await anext(output)).data.data == b"looked"
    assert await agent.session_ends.get() == "c"


async def inputs(*parts: bytes) -> AsyncIterator[agent_pb2.ProcessIO]:
    for part in parts:
        data = agent_pb2.ProcessIO.Data(type=STDIN, data=part)
        yield agent_pb2.ProcessIO(type=agent_pb2.ProcessIO.DATA, data=data)


async def test_input_arrives_as_records(agent: FakeAgent) -> None:
    await AgentClient(agent.address).attach_input(ID, inputs(b"one", b"two", b""))

    assert agent.inputs == [b"one", b"two", b""]


async def test_input_ends_with_the_agents_answer(agent: FakeAgent) -> None:
    async def endless() -> AsyncIterator[agent_pb2.ProcessIO]:
        async for message in inputs(b"stop"):
            yield message
        await asyncio.Event().wait()

    async with asyncio.timeout(5):
        with pytest.raises(CallRejected, match=r"ATTACH_CONTAINER_INPUT refused \(400\): enough"):
            await AgentClient(agent.address).attach_input(ID, endless())


async def test_an_error_of_the_source_is_raised(agent: FakeAgent) -> None:
    async def broken() -> AsyncIterator[agent_pb2.ProcessIO]:
        async for message in inputs(b"one"):
            yield message
        raise OSError("terminal gone")

    async with asyncio.timeout(5):
        with pytest.raises(OSError, match="terminal gone"):
            await AgentClient(agent.address).attach_input(ID, broken())
