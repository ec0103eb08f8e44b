"""LAUNCH, WAIT, KILL and REMOVE of containers."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from tests.agent.container_api.conftest import launch_call
from tests.agent.waiting import eventually
from tfmesos.agent.containerizer import Container, ContainerId, Containerizer
from tfmesos.client.agent import AgentClient
from tfmesos.client.errors import CallRejected
from tfmesos.transport import Address, HttpConnection
from tfmesos.wire import agent_pb2, mesos_pb2

ROOT = ContainerId("root")
NESTED = ContainerId("nested", ROOT)


def _launch(line: str, container_id: ContainerId = NESTED) -> agent_pb2.Call.LaunchContainer:
    return launch_call(line, container_id)


async def test_a_nested_container_runs_and_its_end_is_told(client: AgentClient, root: Container) -> None:
    assert await client.launch_container(_launch("echo hello; exit 3"))

    ended = await client.wait_container(NESTED.to_proto())

    assert ended is not None
    assert ended.exit_status == 3 << 8
    with open(f"{root.directory}/containers/nested/stdout") as stdout:  # noqa: ASYNC230
        assert stdout.read() == "hello\n"


async def test_a_second_launch_is_accepted_and_does_nothing(client: AgentClient, root: Container) -> None:
    assert await client.launch_container(_launch("exit 3"))

    assert not await client.launch_container(_launch("exit 4"))

    ended = await client.wait_container(NESTED.to_proto())
    assert ended is not None
    assert ended.exit_status == 3 << 8


async def test_of_launches_at_the_same_time_one_launches(client: AgentClient, root: Container) -> None:
    launched = await asyncio.gather(*(client.launch_container(_launch("true")) for _ in range(5)))

    assert sorted(launched) == [False] * 4 + [True]


async def test_a_container_is_signalled_and_then_is_not_there(client: AgentClient, root: Container) -> None:
    await client.launch_container(_launch("sleep 60"))

    assert await client.kill_container(NESTED.to_proto(), signal.SIGTERM)

    ended = await client.wait_container(NESTED.to_proto())
    assert ended is not None
    assert ended.exit_status == signal.SIGTERM
    assert not await client.kill_container(NESTED.to_proto(), signal.SIGKILL)


async def test_what_is_nested_in_a_signalled_container_ends_with_it(client: AgentClient, root: Container) -> None:
    child = ContainerId("child", NESTED)
    await client.launch_container(_launch("sleep 60"))
    await client.launch_container(_launch("sleep 60", child))

    await client.kill_container(NESTED.to_proto(), signal.SIGKILL)

    assert await client.wait_container(NESTED.to_proto()) is not None
    ended = await client.wait_container(child.to_proto())
    assert ended is not None
    assert ended.exit_status in (signal.SIGTERM, signal.SIGKILL)


async def test_an_end_is_known_until_it_is_removed(
    client: AgentClient, root: Container, containerizer: Containerizer
) -> None:
    await client.launch_container(_launch("sleep 60"))
    with pytest.raises(CallRejected, match="has not terminated yet"):
        await client.remove_container(NESTED.to_proto())
    await client.kill_container(NESTED.to_proto(), signal.SIGKILL)
    await client.wait_container(NESTED.to_proto())

    assert await client.remove_container(NESTED.to_proto())

    assert await client.wait_container(NESTED.to_proto()) is None
    assert not await client.remove_container(NESTED.to_proto())
    assert os.listdir(f"{root.directory}/containers") == []
    assert await client.launch_container(_launch("true"))


async def test_ends_are_forgotten_with_the_parent(
    client: AgentClient, root: Container, containerizer: Containerizer
) -> None:
    await client.launch_container(_launch("sleep 60"))
    waiting = asyncio.create_task(client.wait_container(NESTED.to_proto()))
    root.kill(0)

    assert await waiting is not None
    await root.wait()
    containerizer.forget(ROOT)
    assert await client.wait_container(NESTED.to_proto()) is None


async def test_standalone_containers_belong_to_nobody(client: AgentClient, tmp_path: Path) -> None:
    alone = ContainerId("alone")
    assert await client.launch_container(_launch("pwd; exit 2", alone))

    ended = await client.wait_container(alone.to_proto())

    assert ended is not None
    assert ended.exit_status == 2 << 8
    assert (tmp_path / "containers" / "alone" / "stdout").read_text() == f"{tmp_path}/containers/alone\n"
    assert await client.remove_container(alone.to_proto())
    assert os.listdir(tmp_path / "containers") == []
    await eventually(lambda: not os.listdir(tmp_path / "run" / "containers"))


def _reserved() -> agent_pb2.Call.LaunchContainer:
    launch = _launch("true", ContainerId("alone"))
    resource = launch.resources.add(name="cpus", type=mesos_pb2.Value.SCALAR)
    resource.reservations.add(role="r", type=mesos_pb2.Resource.ReservationInfo.STATIC)
    return launch


def _limited() -> agent_pb2.Call.LaunchContainer:
    launch = _launch("true", ContainerId("alone"))
    launch.limits["mem"].value = 1
    return launch


def _with_gpus(amount: float) -> agent_pb2.Call.LaunchContainer:
    launch = _launch("true")
    launch.resources.add(name="gpus", type=mesos_pb2.Value.SCALAR).scalar.value = amount
    return launch


@pytest.mark.parametrize(
    ("launch", "text"),
    [
        (_launch("true", ContainerId("x", ContainerId("nobody"))), "Parent container nobody does not exist"),
        (_launch("true", ContainerId("a b")), "'launch_container.container_id' is invalid"),
        (_launch("true", ContainerId("x" * 243)), "greater than 242"),
        (_launch("true", ContainerId("..", ContainerId("r"))), "contains invalid characters"),
        (_launch(""), "the command has no value"),
        (_with_gpus(0.5), "Invalid GPU resources: The 'gpus' resource must be an unsigned integer"),
        (_reserved(), "'launch_container.resources' is invalid: resource 'cpus' is reserved"),
        (_limited(), "resource limits are not supported"),
    ],
)
async def test_what_cannot_be_launched_is_refused(
    client: AgentClient, root: Container, launch: agent_pb2.Call.LaunchContainer, text: str
) -> None:
    with pytest.raises(CallRejected, match=text) as refused:
        await client.launch_container(launch)

    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("body", "headers", "status", "text"),
    [
        (
            '{"type":"WAIT_CONTAINER","wait_container":{"container_id":{"value":"nothing"}}}',
            {},
            404,
            "Container nothing cannot be found",
        ),
        (
            '{"type":"KILL_CONTAINER","kill_container":{"container_id":{"value":"nothing"}}}',
            {},
            404,
            "Container 'nothing' cannot be found (or is already killed)",
        ),
        (
            '{"type":"ATTACH_CONTAINER_OUTPUT","attach_container_output":{"container_id":{"value":"root"}}}',
            {},
            500,
            "I/O switchboard server was disabled for this container",
        ),
        (
            '{"type":"WAIT_NESTED_CONTAINER","wait_nested_container":{"container_id":{"value":"root"}}}',
            {},
            400,
            "Failed to validate agent::Call: Expecting 'wait_nested_container.container_id.parent' to be present",
        ),
        (
            '{"type":"KILL_CONTAINER","kill_container":{"container_id":{"value":"root"},"signal":32}}',
            {},
            400,
            "Failed to validate agent::Call: 'kill_container.signal' is invalid: 32 is no signal",
        ),
        (
            '{"type":"KILL_CONTAINER","kill_container":{"container_id":{"value":"root"},"signal":99}}',
            {},
            400,
            "Failed to validate agent::Call: 'kill_container.signal' is invalid: 99 is no signal",
        ),
        (
            '{"type":"WAIT_CONTAINER","wait_container":{"container_id":{"value":"root"}}}',
            {"Message-Content-Type": "application/json"},
            415,
            "Expecting 'Message-Content-Type' to be not set for non-streaming requests",
        ),
        (
            '{"type":"WAIT_CONTAINER","wait_container":{"container_id":{"value":"root"}}}',
            {"Message-Accept": "application/json"},
            406,
            "Expecting 'Message-Accept' to be not set for non-streaming responses",
        ),
        (
            '{"type":"WAIT_CONTAINER","wait_container":{"container_id":{"value":"root"}}}',
            {"Accept": "application/recordio"},
            406,
            "Streaming response is not supported for WAIT_CONTAINER call",
        ),
        (
            '{"type":"ATTACH_CONTAINER_OUTPUT","attach_container_output":{"container_id":{"value":"root"}}}',
            {"Accept": "application/recordio", "Message-Accept": "text/html"},
            406,
            "Expecting 'Message-Accept' to allow application/json or application/x-protobuf",
        ),
        (
            '{"type":"REMOVE_CONTAINER","remove_container":{"container_id":{"value":"root"}}}',
            {},
            400,
            "Container root belongs to a task or an executor",
        ),
    ],
)
async def test_texts_and_statuses(
    address: Address, root: Container, body: str, headers: dict[str, str], status: int, text: str
) -> None:
    async with await HttpConnection.open(address) as connection:
        answer = await connection.request(
            "POST", "/api/v1", {"Content-Type": "application/json", **headers}, body.encode()
        )

    assert (answer.status, answer.body.decode()) == (status, text)


async def test_a_client_that_goes_away_does_not_end_its_launch(
    address: Address, root: Container, containerizer: Containerizer, client: AgentClient
) -> None:
    call = agent_pb2.Call(type=agent_pb2.Call.LAUNCH_CONTAINER, launch_container=_launch("sleep 0.05"))
    connection = await HttpConnection.open(address)
    headers = {"Content-Type": "application/x-protobuf"}
    asking = asyncio.create_task(connection.request("POST", "/api/v1", headers, call.SerializeToString()))
    await eventually(lambda: containerizer.is_launching(NESTED) or containerizer.find(NESTED))

    asking.cancel()
    await asyncio.wait([asking])
    await connection.close()

    ended = await client.wait_container(NESTED.to_proto())
    assert ended is not None
    assert ended.exit_status == 0
