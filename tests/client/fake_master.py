"""A master that does what a stock one does not do on demand. Verified by the same contract as the stock master."""

import asyncio
import json
import uuid
from collections import deque
from dataclasses import dataclass, field

from aiohttp import web

from tfmesos.transport import HttpServer, StreamReply, TcpAddress, reply
from tfmesos.wire import encode_record, mesos_pb2, scheduler_pb2

Call = scheduler_pb2.Call
Event = scheduler_pb2.Event
PROTOBUF = "application/x-protobuf"


@dataclass
class Framework:
    """A subscribed framework."""

    id: str
    stream_id: str
    stream: StreamReply

    def send(self, event: Event) -> None:
        self.stream.send(encode_record(event.SerializeToString()))

    def fail(self, message: str) -> None:
        self.send(Event(type=Event.ERROR, error=Event.Error(message=message)))
        self.stream.end()


@dataclass
class FakeMaster:
    """Speaks the scheduler API in protobuf; no agents, so no offers but those a test sends."""

    heartbeat_s: float = 15.0
    version: str = "1.11.0"
    answers: deque[tuple[int, str, dict[str, str]]] = field(default_factory=deque)
    """Given, one after the other, to the next requests instead of a real answer."""
    calls: list[Call] = field(default_factory=list)
    heard: asyncio.Queue[Call] = field(default_factory=asyncio.Queue)
    """The same, to wait for."""
    paths: list[str] = field(default_factory=list)
    stream_ids: list[str | None] = field(default_factory=list)
    frameworks: dict[str, Framework] = field(default_factory=dict)
    completed: set[str] = field(default_factory=set)
    subscribed: asyncio.Queue[Framework] = field(default_factory=asyncio.Queue)
    infos: list[mesos_pb2.FrameworkInfo] = field(default_factory=list)
    _count: int = 0

    async def start(self) -> None:
        self._server = await HttpServer.start(self._handle, TcpAddress("127.0.0.1", 0))

    @property
    def address(self) -> str:
        return str(self._server.address)

    async def close(self) -> None:
        await self._server.close()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/version":
            return reply(200, json.dumps({"version": self.version}))
        call = Call.FromString(await request.read())
        self.paths.append(request.path)
        self.stream_ids.append(request.headers.get("Mesos-Stream-Id"))
        if self.answers:
            status, text, headers = self.answers.popleft()
            return reply(status, text, headers=headers)
        if call.type == Call.SUBSCRIBE:
            return await self._subscribe(call, request)
        return self._answer(call, request)

    async def _subscribe(self, call: Call, request: web.BaseRequest) -> web.StreamResponse:
        self.infos.append(call.subscribe.framework_info)
        id_ = call.framework_id.value or f"fake-{self._next():04}"
        stream = StreamReply(PROTOBUF, {"Mesos-Stream-Id": str(uuid.uuid4())})
        framework = Framework(id_, stream._headers["Mesos-Stream-Id"], stream)
        if any(role == ".." for role in call.subscribe.framework_info.roles):
            framework.fail("Role name .. is invalid")
        elif id_ in self.completed:
            framework.fail("Framework has been removed")
        else:
            self._admit(framework)
        try:
            return await stream.serve(request)
        finally:
            if self.frameworks.get(id_) is framework:
                framework.stream.end()

    def _admit(self, framework: Framework) -> None:
        old = self.frameworks.get(framework.id)
        if old is not None and not old.stream.is_closed:
            old.fail("Framework failed over")
        self.frameworks[framework.id] = framework
        subscribed = Event.Subscribed(
            framework_id=mesos_pb2.FrameworkID(value=framework.id), heartbeat_interval_seconds=self.heartbeat_s
        )
        framework.send(Event(type=Event.SUBSCRIBED, subscribed=subscribed))
        framework.send(Event(type=Event.HEARTBEAT))
        self.subscribed.put_nowait(framework)

    def _answer(self, call: Call, request: web.BaseRequest) -> web.StreamResponse:
        framework = self.frameworks.get(call.framework_id.value)
        if call.type == Call.KILL and not call.HasField("kill"):
            return reply(400, "Failed to validate scheduler::Call: Expecting 'kill' to be present")
        if framework is None:
            return reply(400, "Framework cannot be found")
        if request.headers.get("Mesos-Stream-Id") != framework.stream_id:
            return reply(400, "The stream ID included in this request didn't match")
        self.calls.append(call)
        self.heard.put_nowait(call)
        if call.type == Call.TEARDOWN:
            del self.frameworks[framework.id]
            self.completed.add(framework.id)
            framework.stream.end()
        for task in call.reconcile.tasks:
            status = mesos_pb2.TaskStatus(task_id=task.task_id, state=mesos_pb2.TASK_LOST)
            status.reason = mesos_pb2.TaskStatus.REASON_RECONCILIATION
            framework.send(Event(type=Event.UPDATE, update=Event.Update(status=status)))
        return reply(202)

    def _next(self) -> int:
        self._count += 1
        return self._count
