"""An agent with the executor API and the container calls, whose containers run nothing: a test says how they end."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from signal import SIGKILL, SIGTERM

from aiohttp import web

from tfmesos.client import ExecutorEnvironment
from tfmesos.transport import HttpServer, StreamReply, TcpAddress, reply
from tfmesos.wire import RecordDecoder, agent_pb2, encode_record, executor_pb2, mesos_pb2

Call = executor_pb2.Call
Event = executor_pb2.Event
PROTOBUF = "application/x-protobuf"
FRAMEWORK = "framework-1"
EXECUTOR = "executor-1"
CONTAINER = "container-1"


class Subscriber:
    """One subscription of the executor."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.stream = StreamReply(PROTOBUF)

    def send(self, event: Event) -> None:
        self.stream.send(encode_record(event.SerializeToString()))


@dataclass
class FakeContainer:
    """A nested container; ends by itself when it gets a signal that it does not ignore."""

    launch: agent_pb2.Call.LaunchContainer
    ignores: frozenset[int] = frozenset()
    signals: asyncio.Queue[int] = field(default_factory=asyncio.Queue)
    ended: asyncio.Future[agent_pb2.Response.WaitContainer] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def end(self, wait_status: int) -> None:
        self.ended.set_result(agent_pb2.Response.WaitContainer(exit_status=wait_status))

    def signal(self, number: int) -> None:
        self.signals.put_nowait(number)
        if number not in self.ignores and not self.ended.done():
            self.end(number)


@dataclass
class FakeAgent:
    """One executor's agent (protobuf)."""

    acknowledges: bool = True
    capabilities: Sequence[mesos_pb2.FrameworkInfo.Capability.Type.ValueType] = (
        mesos_pb2.FrameworkInfo.Capability.TASK_KILLING_STATE,
    )
    answers: deque[tuple[int, str]] = field(default_factory=deque)
    """Given, one after the other, to the next executor calls instead of a real answer."""
    subscribers: asyncio.Queue[Subscriber] = field(default_factory=asyncio.Queue)
    statuses: asyncio.Queue[mesos_pb2.TaskStatus] = field(default_factory=asyncio.Queue)
    messages: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)
    launched: asyncio.Queue[FakeContainer] = field(default_factory=asyncio.Queue)
    containers: dict[str, FakeContainer] = field(default_factory=dict)
    launch_refusals: dict[str, tuple[int, str]] = field(default_factory=dict)
    """By the command's value: what LAUNCH_CONTAINER is answered."""
    held: dict[str, asyncio.Event] = field(default_factory=dict)
    """By the command's value: LAUNCH_CONTAINER is answered once the event is set."""
    stubborn: set[str] = field(default_factory=set)
    """Commands that ignore SIGTERM."""
    session_ends: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    inputs: list[bytes] = field(default_factory=list)
    """What ATTACH_CONTAINER_INPUT brought; `stop` is answered at once with an error."""
    current: Subscriber | None = None
    _server: HttpServer | None = None

    async def start(self, port: int = 0) -> None:
        self._server = await HttpServer.start(self._handle, TcpAddress("127.0.0.1", port))

    async def close(self) -> None:
        if self._server is not None:
            await self._server.close()

    async def restart(self) -> None:
        """Go away with all connections, and come back at the same port."""
        port = self.address.port
        await self.close()
        await self.start(port)

    @property
    def address(self) -> TcpAddress:
        assert self._server is not None
        assert isinstance(self._server.address, TcpAddress)
        return self._server.address

    def environment(self, sandbox: str, *, checkpoint: bool = False, grace_s: float = 5) -> ExecutorEnvironment:
        return ExecutorEnvironment(
            framework_id=FRAMEWORK,
            executor_id=EXECUTOR,
            agent=self.address,
            sandbox=sandbox,
            does_checkpoint=checkpoint,
            recovery_timeout_s=10,
            backoff_max_s=0.05,
            shutdown_grace_s=grace_s,
        )

    async def next_subscriber(self) -> Subscriber:
        async with asyncio.timeout(10):
            return await self.subscribers.get()

    async def next_status(self) -> mesos_pb2.TaskStatus:
        async with asyncio.timeout(10):
            return await self.statuses.get()

    async def next_container(self) -> FakeContainer:
        async with asyncio.timeout(10):
            return await self.launched.get()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("Message-Content-Type") == PROTOBUF:
            return await self._take_input(request)
        body = await request.read()
        if request.path == "/slave(1)/api/v1/executor":
            return await self._executor_call(Call.FromString(body), request)
        assert request.path in ("/api/v1", "/slave(1)/api/v1")
        return await self._container_call(agent_pb2.Call.FromString(body), request)

    async def _executor_call(self, call: Call, request: web.BaseRequest) -> web.StreamResponse:
        if self.answers:
            status, text = self.answers.popleft()
            return reply(status, text)
        if (call.framework_id.value, call.executor_id.value) != (FRAMEWORK, EXECUTOR):
            return reply(400, "Executor cannot be found")
        if call.type == Call.SUBSCRIBE:
            return await self._subscribe(call, request)
        if call.type == Call.MESSAGE:
            self.messages.put_nowait(call.message.data)
        if call.type == Call.UPDATE:
            self._take(call.update.status)
        return reply(202)

    async def _subscribe(self, call: Call, request: web.BaseRequest) -> web.StreamResponse:
        self.current = subscriber = Subscriber(call)
        subscribed = Event.Subscribed()
        subscribed.framework_info.name = subscribed.framework_info.user = "x"
        for capability in self.capabilities:
            subscribed.framework_info.capabilities.add(type=capability)
        subscribed.executor_info.executor_id.value = EXECUTOR
        subscribed.agent_info.hostname = "here"
        subscribed.container_id.value = CONTAINER
        subscriber.send(Event(type=Event.SUBSCRIBED, subscribed=subscribed))
        for update in call.subscribe.unacknowledged_updates:
            self._take(update.status)
        self.subscribers.put_nowait(subscriber)
        return await subscriber.stream.serve(request)

    def _take(self, status: mesos_pb2.TaskStatus) -> None:
        self.statuses.put_nowait(status)
        if self.acknowledges and self.current is not None:
            self.current.send(acknowledged(status))

    async def _container_call(self, call: agent_pb2.Call, request: web.BaseRequest) -> web.StreamResponse:
        match call.type:
            case agent_pb2.Call.LAUNCH_CONTAINER:
                return await self._launch(call.launch_container)
            case agent_pb2.Call.WAIT_CONTAINER:
                return await self._wait(call.wait_container.container_id)
            case agent_pb2.Call.KILL_CONTAINER:
                return self._kill(call.kill_container)
            case agent_pb2.Call.LAUNCH_NESTED_CONTAINER_SESSION:
                return await self._session(call.launch_nested_container_session, request)
            case agent_pb2.Call.REMOVE_CONTAINER:
                found = self.containers.pop(call.remove_container.container_id.value, None)
                return reply(404 if found is None else 200)
        return reply(501)

    async def _launch(self, launch: agent_pb2.Call.LaunchContainer) -> web.StreamResponse:
        command = launch.command.value
        if command in self.launch_refusals:
            status, text = self.launch_refusals[command]
            return reply(status, text)
        id_ = launch.container_id.value
        if id_ in self.containers:
            return reply(202)
        ignores = frozenset({int(SIGTERM)} if command in self.stubborn else ())
        container = self.containers[id_] = FakeContainer(launch, ignores)
        self.launched.put_nowait(container)
        if command in self.held:
            await self.held[command].wait()
        return reply(200)

    async def _take_input(self, request: web.BaseRequest) -> web.StreamResponse:
        decoder = RecordDecoder()
        async for data in request.content.iter_any():
            for record in decoder.feed(data):
                attach = agent_pb2.Call.FromString(record).attach_container_input
                if attach.process_io.data.data == b"stop":
                    return reply(400, "enough")
                if attach.HasField("process_io"):
                    self.inputs.append(attach.process_io.data.data)
        return reply(200)

    async def _wait(self, container_id: mesos_pb2.ContainerID) -> web.StreamResponse:
        container = self.containers.get(container_id.value)
        if container is None:
            return reply(404, f"Container {container_id.value} cannot be found")
        answer = agent_pb2.Response(type=agent_pb2.Response.WAIT_CONTAINER)
        answer.wait_container.CopyFrom(await asyncio.shield(container.ended))
        return reply(200, answer.SerializeToString(), PROTOBUF)

    def _kill(self, kill: agent_pb2.Call.KillContainer) -> web.StreamResponse:
        container = self.containers.get(kill.container_id.value)
        if container is None:
            return reply(404, f"Container {kill.container_id.value} cannot be found")
        if container.ended.done():
            return reply(500, "Unable to send signal to container: No such process")
        container.signal(kill.signal or SIGKILL)
        return reply(200)

    async def _session(
        self, launch: agent_pb2.Call.LaunchNestedContainerSession, request: web.BaseRequest
    ) -> web.StreamResponse:
        """The command's value is its wait status; `hang` has none until its connection is closed."""
        stream = StreamReply("application/recordio", {"Message-Content-Type": PROTOBUF})
        data = agent_pb2.ProcessIO.Data(type=agent_pb2.ProcessIO.Data.STDOUT, data=b"looked")
        message = agent_pb2.ProcessIO(type=agent_pb2.ProcessIO.DATA, data=data)
        stream.send(encode_record(message.SerializeToString()))
        container = self.containers[launch.container_id.value] = FakeContainer(agent_pb2.Call.LaunchContainer())
        if launch.command.value != "hang":
            stream.end()
            container.end(int(launch.command.value))
        try:
            return await stream.serve(request)
        finally:
            if not container.ended.done():
                container.end(SIGKILL)
            self.session_ends.put_nowait(launch.container_id.value)


def acknowledged(status: mesos_pb2.TaskStatus) -> Event:
    return Event(type=Event.ACKNOWLEDGED, acknowledged=Event.Acknowledged(task_id=status.task_id, uuid=status.uuid))
