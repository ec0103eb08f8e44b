"""Sessions, and attached input and output."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

import pytest

from tests.agent.container_api.conftest import launch_call
from tests.agent.waiting import eventually
from tfmesos.agent.containerizer import Container, ContainerId, Containerizer
from tfmesos.client.agent import AgentClient
from tfmesos.client.errors import CallRejected
from tfmesos.transport import Address, HttpConnection
from tfmesos.wire import agent_pb2, mesos_pb2
from tfmesos.wire.media import encode
from tfmesos.wire.recordio import encode_record

_IO = agent_pb2.ProcessIO
_Attach = agent_pb2.Call.AttachContainerInput
ROOT = ContainerId("root")
NESTED = ContainerId("nested", ROOT)


def stdin(data: bytes) -> agent_pb2.ProcessIO:
    return _IO(type=_IO.DATA, data=_IO.Data(type=_IO.Data.STDIN, data=data))


def window(rows: int, columns: int) -> agent_pb2.ProcessIO:
    message = _IO(type=_IO.CONTROL)
    message.control.type = _IO.Control.TTY_INFO
    message.control.tty_info.window_size.rows, message.control.tty_info.window_size.columns = rows, columns
    return message


async def messages(*items: agent_pb2.ProcessIO | asyncio.Event) -> AsyncIterator[agent_pb2.ProcessIO]:
    """Input that waits where there is an event."""
    for item in items:
        if isinstance(item, asyncio.Event):
            await item.wait()
        else:
            yield item


async def text_of(output: AsyncIterator[agent_pb2.ProcessIO], until: bytes | None = None) -> bytes:
    """What comes as output, to its end or until something was said."""
    text = b""
    async for message in output:
        if message.type == _IO.DATA:
            text += message.data.data
        if until is not None and until in text:
            break
    return text


def with_terminal(line: str, container_id: ContainerId = NESTED) -> agent_pb2.Call.LaunchContainer:
    launch = launch_call(line, container_id)
    launch.container.type = mesos_pb2.ContainerInfo.MESOS
    launch.container.tty_info.window_size.rows, launch.container.tty_info.window_size.columns = 25, 81
    return launch


async def test_a_session_tells_its_output_and_its_end(client: AgentClient, root: Container) -> None:
    command = mesos_pb2.CommandInfo(value="echo out; echo err >&2; pwd; exit 3")

    async with client.session(NESTED.to_proto(), command) as output:
        said = [(message.data.type, message.data.data) async for message in output if message.type == _IO.DATA]

    assert b"".join(data for kind, data in said if kind == _IO.Data.STDOUT) == f"out\n{root.directory}\n".encode()
    assert b"".join(data for kind, data in said if kind == _IO.Data.STDERR) == b"err\n"
    ended = await client.wait_container(NESTED.to_proto())
    assert ended is not None
    assert ended.exit_status == 3 << 8
    assert await client.remove_container(NESTED.to_proto())


async def test_a_session_ends_with_its_connection(client: AgentClient, root: Container) -> None:
    async with client.session(NESTED.to_proto(), mesos_pb2.CommandInfo(value="echo up; sleep 60")) as output:
        assert await text_of(output, until=b"up") == b"up\n"

    ended = await client.wait_container(NESTED.to_proto())
    assert ended is not None


async def test_a_session_ends_with_what_it_looks_into(client: AgentClient, root: Container) -> None:
    async with client.session(NESTED.to_proto(), mesos_pb2.CommandInfo(value="echo up; sleep 60")) as output:
        await text_of(output, until=b"up")
        root.kill(0)

        assert await text_of(output) == b""

    await root.wait()


async def test_a_session_is_fed_and_told_the_end_of_its_input(client: AgentClient, root: Container) -> None:
    async with client.session(NESTED.to_proto(), mesos_pb2.CommandInfo(value="echo up; cat; echo end")) as output:
        await text_of(output, until=b"up")
        await client.attach_input(NESTED.to_proto(), messages(stdin(b"one "), stdin(b"two\n"), stdin(b"")))

        assert await text_of(output) == b"one two\nend\n"


async def test_heartbeats_say_that_the_connection_lives(client: AgentClient, root: Container) -> None:
    async with client.session(NESTED.to_proto(), mesos_pb2.CommandInfo(value="sleep 60")) as output:
        beat = await anext(output)

    assert beat.control.type == _IO.Control.HEARTBEAT
    assert beat.control.heartbeat.interval.nanoseconds == 50_000_000


async def test_a_terminal_has_the_size_it_is_given(client: AgentClient, root: Container) -> None:
    line = "stty size; trap 'stty size' WINCH; echo up; while :; do sleep 0.02; done"
    await client.launch_container(with_terminal("read go; " + line))
    resized = asyncio.Event()
    feeding = asyncio.create_task(
        client.attach_input(NESTED.to_proto(), messages(stdin(b"go\n"), resized, window(40, 132), asyncio.Event()))
    )
    async with client.attach_output(NESTED.to_proto()) as output:
        first = await text_of(output, until=b"up")
        resized.set()
        second = await text_of(output, until=b"132")

    assert b"25 81\r\n" in first
    assert second.endswith(b"40 132\r\n")
    assert await client.kill_container(NESTED.to_proto(), 9)
    await feeding  # the container has ended: its input is answered


async def test_output_is_in_the_sandbox_as_well(client: AgentClient, root: Container) -> None:
    await client.launch_container(with_terminal("echo hello"))
    await client.wait_container(NESTED.to_proto())

    with open(f"{root.directory}/containers/nested/stdout") as stdout:  # noqa: ASYNC230
        assert "hello" in stdout.read()


async def test_several_watch_and_one_types(client: AgentClient, root: Container) -> None:
    await client.launch_container(with_terminal("cat"))
    typing = asyncio.create_task(client.attach_input(NESTED.to_proto(), messages(stdin(b"x\n"), asyncio.Event())))
    async with client.attach_output(NESTED.to_proto()) as one, client.attach_output(NESTED.to_proto()) as two:
        with pytest.raises(CallRejected, match="Multiple input connections are not allowed") as refused:
            await _second_input(client)
        assert refused.value.status == 409
        await client.kill_container(NESTED.to_proto(), 9)
        await text_of(one)
        await text_of(two)
    await typing


async def _second_input(client: AgentClient) -> None:
    """Attach once more, until the first attachment is there."""
    async with asyncio.timeout(10):
        while True:
            await client.attach_input(NESTED.to_proto(), messages(window(24, 80)))
            await asyncio.sleep(0.01)


async def test_a_client_that_reads_nothing_does_not_pile_up_here(
    client: AgentClient, root: Container, address: Address, containerizer: Containerizer
) -> None:
    line = "read go; i=0; while [ $i -lt 200 ]; do head -c 65536 /dev/zero; i=$((i+1)); done; echo done > done"
    await client.launch_container(with_terminal(line))
    call = agent_pb2.Call(type=agent_pb2.Call.ATTACH_CONTAINER_OUTPUT)
    call.attach_container_output.container_id.CopyFrom(NESTED.to_proto())
    async with await HttpConnection.open(address) as connection:
        stream = await connection.stream(
            "POST", "/api/v1", {"Content-Type": "application/x-protobuf"}, call.SerializeToString()
        )
        assert stream.status == 200
        await client.attach_input(NESTED.to_proto(), messages(stdin(b"go\n")))
        size = _log_size(root)
        await eventually(lambda: _log_size(root) > size)
    # The connection is gone now: the program ends.
    assert await client.wait_container(NESTED.to_proto()) is not None
    assert os.path.exists(f"{root.directory}/containers/nested/done")  # noqa: ASYNC240


def _log_size(root: Container) -> int:
    return os.stat(f"{root.directory}/containers/nested/stdout").st_size


async def test_sessions_in_large_number_leave_nothing(
    client: AgentClient, root: Container, containerizer: Containerizer
) -> None:
    async def look(number: int) -> bytes:
        container_id = ContainerId(f"s{number}", ROOT).to_proto()
        async with client.session(container_id, mesos_pb2.CommandInfo(value=f"echo {number}")) as output:
            text = await text_of(output)
        await client.wait_container(container_id)
        await client.remove_container(container_id)
        return text

    before = len(os.listdir("/proc/self/fd"))
    texts = await asyncio.gather(*map(look, range(40)))

    assert texts == [f"{number}\n".encode() for number in range(40)]
    await eventually(lambda: len(os.listdir("/proc/self/fd")) <= before + 2)
    assert [container.id for container in containerizer.containers()] == [ROOT]


def _record(**fields: object) -> bytes:
    call = agent_pb2.Call(type=agent_pb2.Call.ATTACH_CONTAINER_INPUT)
    call.attach_container_input.CopyFrom(_Attach(**fields))  # type: ignore[arg-type]
    return encode_record(encode(call, "application/json"))


@pytest.mark.parametrize(
    ("body", "headers", "status", "text"),
    [
        (b"", {"Message-Content-Type": "application/json"}, 400, "Received EOF while reading request body"),
        (b"", {}, 400, "Expecting 'Message-Content-Type' to be set for streaming requests"),
        (
            b"",
            {"Message-Content-Type": "text/html"},
            415,
            "Expecting 'Message-Content-Type' of application/json or application/x-protobuf",
        ),
        (
            b"x\n",
            {"Message-Content-Type": "application/json"},
            400,
            "Failed to decode record length b'x'",
        ),
        (
            _record(type=_Attach.PROCESS_IO, process_io=stdin(b"x")),
            {"Message-Content-Type": "application/json"},
            400,
            "Expecting 'attach_container_input.container_id' to be present in the first record",
        ),
        (
            encode_record(b'{"type": "GET_HEALTH"}'),
            {"Message-Content-Type": "application/json"},
            400,
            "Streaming 'Content-Type' application/recordio is not supported for GET_HEALTH call",
        ),
        (
            _record(type=_Attach.CONTAINER_ID, container_id=mesos_pb2.ContainerID(value="nobody")),
            {"Message-Content-Type": "application/json"},
            404,
            "Container nobody cannot be found",
        ),
        (
            _record(type=_Attach.CONTAINER_ID, container_id=mesos_pb2.ContainerID(value="root")),
            {"Message-Content-Type": "application/json"},
            500,
            "I/O switchboard server was disabled for this container",
        ),
    ],
)
async def test_bad_streams_have_texts(
    address: Address, root: Container, body: bytes, headers: dict[str, str], status: int, text: str
) -> None:
    async with await HttpConnection.open(address) as connection:
        answer = await connection.request("POST", "/api/v1", {"Content-Type": "application/recordio", **headers}, body)

    assert (answer.status, answer.body.decode()) == (status, text)


async def test_json_in_recordio_is_answered_as_it_is_asked_for(
    address: Address, client: AgentClient, root: Container
) -> None:
    body = (
        '{"type":"LAUNCH_NESTED_CONTAINER_SESSION","launch_nested_container_session":{"container_id":'
        '{"value":"nested","parent":{"value":"root"}},"command":{"value":"echo hi"}}}'
    )
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/recordio",
        "Message-Accept": "application/json",
    }
    async with await HttpConnection.open(address) as connection:
        stream = await connection.stream("POST", "/api/v1", headers, body.encode())
        answered = await stream.read()

    assert stream.headers["content-type"] == "application/recordio"
    assert stream.headers["message-content-type"] == "application/json"
    assert b'{"type":"DATA","data":{"type":"STDOUT","data":"aGkK"}}' in answered
