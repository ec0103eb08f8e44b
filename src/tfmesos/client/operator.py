"""Clients of the operator APIs, as far as a launcher needs them."""

import asyncio
import json
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from tfmesos.client._calls import PROTOBUF
from tfmesos.client.errors import CallRejected
from tfmesos.transport import Address, ConnectionLost, HttpConnection, HttpResponse
from tfmesos.wire import agent_pb2, decode, master_pb2, mesos_pb2

_API = "/api/v1"
_PROTOBUF_HEADERS = {"Content-Type": PROTOBUF, "Accept": PROTOBUF}


class _KeptConnection:
    """Requests that may be repeated, over a connection that is opened on first use and again after a loss.

    Many may ask at once; a request has no time limit of its own.
    """

    def __init__(self, address: Address, timeout_s: float) -> None:
        self._address = address
        self._timeout_s = timeout_s
        self._connection: HttpConnection | None = None
        self._opening = asyncio.Lock()

    async def request(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> HttpResponse:
        """The answer; one that was lost with an old connection is asked for again on a new one."""
        connection, is_fresh = await self._open()
        try:
            return await connection.request(method, path, headers, body)
        except ConnectionLost:
            if is_fresh:
                raise
        connection, _ = await self._open()
        return await connection.request(method, path, headers, body)

    async def _open(self) -> tuple[HttpConnection, bool]:
        """The connection, and whether it was opened just now."""
        async with self._opening:
            connection = self._connection
            if connection is not None and not connection.is_closed:
                return connection, False
            self._connection = await HttpConnection.open(self._address, self._timeout_s)
            return self._connection, True

    async def close(self) -> None:
        """Close the connection; may be called again."""
        if self._connection is not None:
            await self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AgentClient(_KeptConnection):
    """An agent's v1 API (protobuf) over one kept connection."""

    def __init__(self, address: Address, timeout_s: float = 10.0) -> None:
        super().__init__(address, timeout_s)

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

    async def _call(self, call: agent_pb2.Call, path: str) -> agent_pb2.Response:
        answer = await self.request("POST", _API, _PROTOBUF_HEADERS, call.SerializeToString())
        if answer.status == 404:
            raise FileNotFoundError(path)
        _check(agent_pb2.Call.Type.Name(call.type), answer)
        return decode(agent_pb2.Response, answer.body)


class MasterClient(_KeptConnection):
    """A master's endpoints over one kept connection."""

    def __init__(self, address: Address, timeout_s: float = 10.0) -> None:
        super().__init__(address, timeout_s)

    async def get_json(self, path: str) -> Any:
        """What a GET of an endpoint such as `/state` says."""
        answer = await self.request("GET", path)
        _check(f"GET {path}", answer)
        return json.loads(answer.body)

    async def teardown(self, framework_id: str) -> None:
        """End a framework (operator call TEARDOWN)."""
        call = master_pb2.Call(type=master_pb2.Call.TEARDOWN)
        call.teardown.framework_id.value = framework_id
        _check("TEARDOWN", await self.request("POST", _API, _PROTOBUF_HEADERS, call.SerializeToString()))


def _check(call: str, answer: HttpResponse) -> None:
    if answer.status not in (200, 202):
        raise CallRejected(call, answer.status, answer.body.decode(errors="replace"))
