"""The client of an agent's v1 API: files and containers."""

from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager

from tfmesos.client._calls import TEXT_LIMIT
from tfmesos.client._kept import API, PROTOBUF_HEADERS, KeptConnection, check_answer
from tfmesos.client._records import read_messages
from tfmesos.client.errors import CallRejected
from tfmesos.transport import Address, HttpConnection, HttpResponse, HttpStream
from tfmesos.wire import agent_pb2, decode, encode_record, mesos_pb2

_STREAM_HEADERS = {**PROTOBUF_HEADERS, "Accept": "application/recordio", "Message-Accept": PROTOBUF_HEADERS["Accept"]}
_UPLOAD_HEADERS = {
    **PROTOBUF_HEADERS,
    "Content-Type": "application/recordio",
    "Message-Content-Type": PROTOBUF_HEADERS["Content-Type"],
}
_UNKNOWN = 404


class AgentClient(KeptConnection):
    """An agent's v1 API (protobuf). Files are read over one kept connection.

    Each call about a container has a connection of its own, because its answer may take long. All raise TransportError,
    and CallRejected with the agent's text.
    """

    def __init__(self, address: Address, timeout_s: float = 10.0, *, token: str | None = None) -> None:
        """`token`: of the executor that asks, where the agent wants one (MESOS_EXECUTOR_AUTHENTICATION_TOKEN)."""
        super().__init__(address, timeout_s)
        self._proof = {} if token is None else {"Authorization": f"Bearer {token}"}

    async def read_file(self, path: str, offset: int, length: int) -> tuple[int, bytes]:
        """(size of the file, up to `length` bytes from `offset`); FileNotFoundError where the agent answers 404."""
        call = agent_pb2.Call(type=agent_pb2.Call.READ_FILE)
        call.read_file.path, call.read_file.offset, call.read_file.length = path, offset, length
        answer = (await self._call(call, path)).read_file
        return answer.size, answer.data

    async def list_files(self, path: str) -> list[mesos_pb2.FileInfo]:
        """The FileInfos of a directory; FileNotFoundError where the agent answers 404."""
        call = agent_pb2.Call(type=agent_pb2.Call.LIST_FILES)
        call.list_files.path = path
        return list((await self._call(call, path)).list_files.file_infos)

    async def launch_container(self, launch: agent_pb2.Call.LaunchContainer) -> bool:
        """Launch a container (nested if its id has a parent); False if it was there already."""
        answer = await self._ask(agent_pb2.Call(type=agent_pb2.Call.LAUNCH_CONTAINER, launch_container=launch))
        return answer.status == 200

    async def wait_container(self, container_id: mesos_pb2.ContainerID) -> agent_pb2.Response.WaitContainer | None:
        """How the container ended, as soon as it has; None if the agent knows nothing of it."""
        call = agent_pb2.Call(type=agent_pb2.Call.WAIT_CONTAINER)
        call.wait_container.container_id.CopyFrom(container_id)
        answer = await self._ask(call)
        return None if answer.status == _UNKNOWN else decode(agent_pb2.Response, answer.body).wait_container

    async def kill_container(self, container_id: mesos_pb2.ContainerID, signal: int) -> bool:
        """Send a signal to the container's main process; False if the agent knows nothing of it."""
        call = agent_pb2.Call(type=agent_pb2.Call.KILL_CONTAINER)
        call.kill_container.container_id.CopyFrom(container_id)
        call.kill_container.signal = signal
        return (await self._ask(call)).status != _UNKNOWN

    async def remove_container(self, container_id: mesos_pb2.ContainerID) -> bool:
        """Remove what is left of an ended container; False if the agent knows nothing of it."""
        call = agent_pb2.Call(type=agent_pb2.Call.REMOVE_CONTAINER)
        call.remove_container.container_id.CopyFrom(container_id)
        return (await self._ask(call)).status != _UNKNOWN

    @asynccontextmanager
    async def session(
        self, container_id: mesos_pb2.ContainerID, command: mesos_pb2.CommandInfo
    ) -> AsyncIterator[AsyncIterator[agent_pb2.ProcessIO]]:
        """Run a command in a container below `container_id.parent`; its output until it ends.

        Leaving the context ends the command.
        """
        call = agent_pb2.Call(type=agent_pb2.Call.LAUNCH_NESTED_CONTAINER_SESSION)
        call.launch_nested_container_session.container_id.CopyFrom(container_id)
        call.launch_nested_container_session.command.CopyFrom(command)
        async with self._streaming(call) as output:
            yield output

    @asynccontextmanager
    async def attach_output(
        self, container_id: mesos_pb2.ContainerID
    ) -> AsyncIterator[AsyncIterator[agent_pb2.ProcessIO]]:
        """The output, from now on, of a container that has a console."""
        call = agent_pb2.Call(type=agent_pb2.Call.ATTACH_CONTAINER_OUTPUT)
        call.attach_container_output.container_id.CopyFrom(container_id)
        async with self._streaming(call) as output:
            yield output

    async def attach_input(
        self, container_id: mesos_pb2.ContainerID, messages: AsyncIterable[agent_pb2.ProcessIO]
    ) -> None:
        """Send input (DATA of STDIN, empty for its end; CONTROL) to a container that has a console.

        Returns when the agent has taken it all or the container has ended.
        """
        async with await HttpConnection.open(self._address, self._timeout_s) as connection:
            headers = {**_UPLOAD_HEADERS, **self._proof}
            answer = await connection.upload("POST", API, headers, _input_records(container_id, messages))
        check_answer("ATTACH_CONTAINER_INPUT", answer)

    async def _call(self, call: agent_pb2.Call, path: str) -> agent_pb2.Response:
        answer = await self.request("POST", API, PROTOBUF_HEADERS, call.SerializeToString())
        if answer.status == _UNKNOWN:
            raise FileNotFoundError(path)
        check_answer(_name(call), answer)
        return decode(agent_pb2.Response, answer.body)

    async def _ask(self, call: agent_pb2.Call) -> HttpResponse:
        """The answer on a connection of its own: accepted, or 404."""
        async with await HttpConnection.open(self._address, self._timeout_s) as connection:
            headers = {**PROTOBUF_HEADERS, **self._proof}
            answer = await connection.request("POST", API, headers, call.SerializeToString())
        if answer.status != _UNKNOWN:
            check_answer(_name(call), answer)
        return answer

    @asynccontextmanager
    async def _streaming(self, call: agent_pb2.Call) -> AsyncIterator[AsyncIterator[agent_pb2.ProcessIO]]:
        async with await HttpConnection.open(self._address, self._timeout_s) as connection:
            headers = {**_STREAM_HEADERS, **self._proof}
            stream = await connection.stream("POST", API, headers, call.SerializeToString())
            if stream.status != 200:
                text = (await stream.read(TEXT_LIMIT)).decode(errors="replace")
                raise CallRejected(_name(call), stream.status, text)
            yield _messages(stream)


async def _input_records(
    container_id: mesos_pb2.ContainerID, messages: AsyncIterable[agent_pb2.ProcessIO]
) -> AsyncIterator[bytes]:
    call = agent_pb2.Call(type=agent_pb2.Call.ATTACH_CONTAINER_INPUT)
    attach = call.attach_container_input
    attach.type = agent_pb2.Call.AttachContainerInput.CONTAINER_ID
    attach.container_id.CopyFrom(container_id)
    yield encode_record(call.SerializeToString())
    attach.type = agent_pb2.Call.AttachContainerInput.PROCESS_IO
    attach.ClearField("container_id")
    async for message in messages:
        attach.process_io.CopyFrom(message)
        yield encode_record(call.SerializeToString())


async def _messages(stream: HttpStream) -> AsyncIterator[agent_pb2.ProcessIO]:
    async for messages in read_messages(stream, agent_pb2.ProcessIO):
        for message in messages:
            yield message


def _name(call: agent_pb2.Call) -> str:
    return agent_pb2.Call.Type.Name(call.type)
