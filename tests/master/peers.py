"""What talks to a running master in tests: an HTTP client, a JSON scheduler, an agent on libprocess."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, TypeVar

from google.protobuf.message import Message

from tfmesos.master import Master, MasterFlags
from tfmesos.resources import Resources
from tfmesos.transport import (
    HttpConnection,
    HttpResponse,
    HttpServer,
    HttpStream,
    LibprocessMessage,
    LibprocessNode,
    Pid,
    TcpAddress,
    reply,
)
from tfmesos.wire import RecordDecoder, decode, internal_pb2, mesos_pb2
from tfmesos.wire.names import message_class, message_name

M = TypeVar("M", bound=Message)
JSON = {"Content-Type": "application/json"}
SCHEDULER = "/api/v1/scheduler"


class Client:
    """One connection to the master."""

    def __init__(self, address: TcpAddress) -> None:
        self.address = address
        self._connection: HttpConnection | None = None

    async def __aenter__(self) -> Client:
        self._connection = await HttpConnection.open(self.address)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._connection is not None:
            await self._connection.close()

    @property
    def connection(self) -> HttpConnection:
        assert self._connection is not None
        return self._connection

    async def get(self, path: str, **headers: str) -> HttpResponse:
        return await self.connection.request("GET", path, headers)

    async def get_json(self, path: str) -> Any:
        response = await self.get(path)
        assert response.status == 200, response
        return json.loads(response.body)

    async def post(self, path: str, body: bytes | dict[str, Any], **headers: str) -> HttpResponse:
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        return await self.connection.request(
            "POST", path, JSON | {name.replace("_", "-"): value for name, value in headers.items()}, data
        )


class Scheduler:
    """A framework that speaks JSON: its stream on one connection, its calls on another."""

    def __init__(self, client: Client, stream: HttpStream, subscription: HttpConnection) -> None:
        self._client = client
        self._stream = stream
        self._records = RecordDecoder()
        self._waiting: list[dict[str, Any]] = []
        self.subscription = subscription
        self.stream_id = stream.headers["mesos-stream-id"]
        self.framework_id = ""

    @classmethod
    @asynccontextmanager
    async def subscribed(cls, client: Client, **info: Any) -> AsyncIterator[Scheduler]:
        async with await HttpConnection.open(client.address) as connection:
            call = {"type": "SUBSCRIBE", "subscribe": {"framework_info": {"user": "nobody", "name": "test"} | info}}
            if "id" in info:
                call["framework_id"] = info["id"]
            stream = await connection.stream("POST", SCHEDULER, JSON, json.dumps(call).encode())
            assert stream.status == 200
            yield cls(client, stream, connection)

    async def event(self, kind: str) -> dict[str, Any]:
        """The next event of a kind; those before it are dropped."""
        while True:
            while self._waiting:
                event = self._waiting.pop(0)
                if event["type"] == "SUBSCRIBED":
                    self.framework_id = event["subscribed"]["framework_id"]["value"]
                if event["type"] == kind:
                    return event
            chunk = await asyncio.wait_for(anext(self._stream.__aiter__()), 10)
            self._waiting += [json.loads(record) for record in self._records.feed(chunk)]

    async def rest(self) -> list[dict[str, Any]]:
        """All events until the stream ends."""
        chunks = await asyncio.wait_for(self._stream.read(), 10)
        events = self._waiting + [json.loads(record) for record in self._records.feed(chunks)]
        self._waiting = []
        return events

    async def call(self, kind: str, **fields: Any) -> HttpResponse:
        call = {"framework_id": {"value": self.framework_id}, "type": kind} | fields
        return await self._client.post(SCHEDULER, call, Mesos_Stream_Id=self.stream_id)


class Agent:
    """An agent that does nothing by itself but answer pings."""

    def __init__(self, server: HttpServer, node: LibprocessNode, master: Pid) -> None:
        self._server = server
        self._node = node
        self._master = master
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        self.pid = node.pid("slave(1)")
        self.id = ""

    @classmethod
    @asynccontextmanager
    async def running(cls, master: Master, resources: str = "cpus:4;mem:4096") -> AsyncIterator[Agent]:
        agents: list[Agent] = []

        def receive(message: LibprocessMessage) -> bool:
            agents[0].receive(message)
            return True

        async def refuse(_: Any) -> Any:
            return reply(404)

        server = await HttpServer.start(refuse, TcpAddress("127.0.0.1", 0), receive)
        address = server.address
        assert isinstance(address, TcpAddress)
        node = LibprocessNode(address.host, address.port)
        agents.append(cls(server, node, master.pid))
        try:
            await agents[0].register(resources)
            yield agents[0]
        finally:
            await agents[0].close()

    async def close(self) -> None:
        await self._server.close()
        await self._node.close()

    def receive(self, message: LibprocessMessage) -> None:
        cls = message_class(message.name)
        assert cls is not None
        body = decode(cls, message.body)
        if isinstance(body, internal_pb2.PingSlaveMessage):
            pong = internal_pb2.PongSlaveMessage()
            self._node.send(message.sender, "slave(1)", message_name(pong), b"")
        self._inbox.put_nowait(body)

    def say(self, message: Message, master: Pid | None = None) -> None:
        self._node.send(master or self._master, "slave(1)", message_name(message), message.SerializeToString())

    async def heard(self, kind: type[M]) -> M:
        """The next message of a kind; those before it are dropped."""
        while True:
            message = await asyncio.wait_for(self._inbox.get(), 10)
            if isinstance(message, kind):
                return message

    async def register(self, resources: str) -> None:
        info = mesos_pb2.AgentInfo(hostname="127.0.0.1", port=self.pid.port)
        info.resources.extend(Resources.parse(resources).to_proto("pre"))
        message = internal_pb2.RegisterSlaveMessage(slave=info, version="1.11.0")
        for capability in (1, 2, 3, 7):
            message.agent_capabilities.add(type=mesos_pb2.AgentInfo.Capability.Type.ValueType(capability))
        self.say(message)
        self.id = (await self.heard(internal_pb2.SlaveRegisteredMessage)).slave_id.value

    def update(self, run: internal_pb2.RunTaskMessage, state: int, message: str = "") -> None:
        said = internal_pb2.StatusUpdateMessage(pid=str(self.pid))
        update = said.update
        update.framework_id.CopyFrom(run.framework.id)
        update.slave_id.value = self.id
        update.timestamp = 1.0
        update.uuid = bytes([state]) * 16
        update.latest_state = update.status.state = state  # type: ignore[assignment]
        update.status.task_id.CopyFrom(run.task.task_id)
        update.status.message = message
        self.say(said)


def launch(task_id: str, offer: dict[str, Any]) -> dict[str, Any]:
    """The body of an ACCEPT that launches one task on an offer."""
    task = {
        "name": task_id,
        "task_id": {"value": task_id},
        "agent_id": offer["agent_id"],
        "resources": [{"name": "cpus", "type": "SCALAR", "scalar": {"value": 1}}],
        "command": {"value": "true"},
    }
    return {
        "offer_ids": [offer["id"]],
        "operations": [{"type": "LAUNCH", "launch": {"task_infos": [task]}}],
        "filters": {"refuse_seconds": 0},
    }


@asynccontextmanager
async def started(**flags: Any) -> AsyncIterator[Client]:
    """A client of a master with these flags."""
    master = Master(MasterFlags(port=0, registry="in_memory", **flags))
    await master.start()
    assert isinstance(master.address, TcpAddress)
    try:
        async with Client(master.address) as client:
            yield client
    finally:
        await master.close()


async def call(client: Client, kind: str, **fields: object) -> Any:
    response = await client.post("/api/v1", {"type": kind, **fields})
    assert response.status == 200, response
    return json.loads(response.body) if response.body else None
