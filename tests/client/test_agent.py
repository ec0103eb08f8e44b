"""The container calls of the agent client: one contract for the fake agent and ours, and what only the fake does."""

import asyncio
import os
import pwd
from collections.abc import AsyncIterator
from pathlib import Path
from signal import SIGKILL

import pytest

from tests.client.fake_agent import FakeAgent
from tfmesos.client import AgentClient, CallRejected
from tfmesos.local import LocalCluster, LocalNeeds
from tfmesos.transport import UnixAddress
from tfmesos.wire import agent_pb2, mesos_pb2

ID = mesos_pb2.ContainerID(value="c")
INNER = mesos_pb2.ContainerID(value="inner", parent=ID)
ProcessIO = agent_pb2.ProcessIO
USER = pwd.getpwuid(os.geteuid()).pw_name


@pytest.fixture
async def agent() -> AsyncIterator[FakeAgent]:
    agent = FakeAgent()
    await agent.start()
    yield agent
    await agent.close()


@pytest.fixture
async def ours(tmp_path: Path) -> AsyncIterator[AgentClient]:
    """The client of an agent of ours."""
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "s"), "XDG_RUNTIME_DIR": str(tmp_path / "r")}
    for name in ("s", "r"):
        (tmp_path / name).mkdir()
    async with await LocalCluster.start(LocalNeeds(cpus=1, mem_mb=64, ports=0), environment) as cluster:
        yield AgentClient(UnixAddress(str(Path(cluster.master.removeprefix("unix://")).with_name("agent.sock"))))


@pytest.fixture(params=["fake", "ours"])
def client(request: pytest.FixtureRequest) -> AgentClient:
    if request.param == "fake":
        return AgentClient(request.getfixturevalue("agent").address)
    made: AgentClient = request.getfixturevalue("ours")
    return made


def launch(command: str, *, tty: bool = False) -> agent_pb2.Call.LaunchContainer:
    made = agent_pb2.Call.LaunchContainer(container_id=ID, command=mesos_pb2.CommandInfo(value=command, user=USER))
    for name, amount in (("cpus", 0.1), ("mem", 32)):
        scalar = mesos_pb2.Value.Scalar(value=amount)
        made.resources.add(name=name, type=mesos_pb2.Value.SCALAR, scalar=scalar)
    if tty:
        made.container.type = mesos_pb2.ContainerInfo.MESOS
        made.container.tty_info.SetInParent()
    return made


async def test_a_container_from_launch_to_removal(client: AgentClient) -> None:
    assert await client.launch_container(launch("exec sleep 1000"))
    assert not await client.launch_container(launch("exec sleep 1000"))
    waiting = asyncio.create_task(client.wait_container(ID))

    assert await client.kill_container(ID, SIGKILL)

    result = await waiting
    assert result is not None
    assert result.exit_status == SIGKILL


async def test_what_the_agent_does_not_know(client: AgentClient) -> None:
    assert await client.wait_container(ID) is None
    assert not await client.kill_container(ID, SIGKILL)


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
        yield ProcessIO(type=ProcessIO.DATA, data=ProcessIO.Data(type=ProcessIO.Data.STDIN, data=part))


async def test_input_arrives_as_records(agent: FakeAgent) -> None:
    await AgentClient(agent.address).attach_input(ID, inputs(b"one", b"two", b""))

    assert agent.inputs == [b"one", b"two", b""]


async def test_input_ends_with_the_agents_answer(agent: FakeAgent) -> None:
    async def endless() -> AsyncIterator[agent_pb2.ProcessIO]:
        async for message in inputs(b"stop"):
            yield message
        await asyncio.Event().wait()

    async with asyncio.timeout(20):
        with pytest.raises(CallRejected, match=r"ATTACH_CONTAINER_INPUT refused \(400\): enough"):
            await AgentClient(agent.address).attach_input(ID, endless())


async def test_an_error_of_the_source_is_raised(agent: FakeAgent) -> None:
    async def broken() -> AsyncIterator[agent_pb2.ProcessIO]:
        async for message in inputs(b"one"):
            yield message
        raise OSError("terminal gone")

    async with asyncio.timeout(20):
        with pytest.raises(OSError, match="terminal gone"):
            await AgentClient(agent.address).attach_input(ID, broken())


async def read_until(output: AsyncIterator[ProcessIO], text: bytes) -> bytes:
    seen = b""
    async with asyncio.timeout(10):
        async for message in output:
            seen += message.data.data
            if text in seen:
                return seen
    raise AssertionError(seen)


async def test_a_terminal_of_ours_is_talked_to(ours: AgentClient) -> None:
    await ours.launch_container(launch('echo "who?"; read x; echo "hi $x"; exec sleep 1000', tty=True))
    async with ours.attach_output(ID) as output:
        await ours.attach_input(ID, inputs(b"me\n"))
        assert b"hi me" in await read_until(output, b"hi me")
    await ours.kill_container(ID, SIGKILL)
    await ours.wait_container(ID)


async def test_a_session_of_ours_runs_beside_the_container_and_ends_with_its_reader(ours: AgentClient) -> None:
    await ours.launch_container(launch("touch mark; exec sleep 1000"))
    command = mesos_pb2.CommandInfo(value="while ! test -e mark; do sleep 0.02; done; echo looked; exec sleep 1000")
    async with ours.session(INNER, command) as output:
        assert b"looked" in await read_until(output, b"looked")
    async with asyncio.timeout(20):
        await ours.wait_container(INNER)
    await ours.kill_container(ID, SIGKILL)
    await ours.wait_container(ID)
