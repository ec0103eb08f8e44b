"""A small master for the agent's tests: registers one agent, hands out tasks, acknowledges, keeps all it was told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from google.protobuf.message import Message

from tfmesos.discovery import Leader
from tfmesos.transport import (
    Address,
    HttpServer,
    LibprocessMessage,
    LibprocessNode,
    Pid,
    TcpAddress,
    reply,
)
from tfmesos.wire import internal_pb2, mesos_pb2
from tfmesos.wire.names import message_class, message_name
from tfmesos.wire.text import TERMINAL_STATES

M = TypeVar("M", bound=Message)

AGENT_ID = "in-test-S0"
FRAMEWORK_ID = "in-test-0000"
OBSERVER = "slave-observer(1)"
PARTITION_AWARE = mesos_pb2.FrameworkInfo.Capability.PARTITION_AWARE
KILLING_STATE = mesos_pb2.FrameworkInfo.Capability.TASK_KILLING_STATE


def framework(*capabilities: mesos_pb2.FrameworkInfo.Capability.Type.ValueType) -> mesos_pb2.FrameworkInfo:
    info = mesos_pb2.FrameworkInfo(user="", name="in-test", role="*")
    info.id.value = FRAMEWORK_ID
    info.capabilities.extend(mesos_pb2.FrameworkInfo.Capability(type=kind) for kind in capabilities)
    return info


def command_task(task_id: str, command: str = "true") -> mesos_pb2.TaskInfo:
    """A task that is a shell line."""
    task = mesos_pb2.TaskInfo(name=task_id)
    task.task_id.value = task_id
    task.agent_id.value = AGENT_ID
    task.command.value = command
    resource = task.resources.add(name="cpus", type=mesos_pb2.Value.SCALAR)
    resource.scalar.value = 0.1
    resource.allocation_info.role = "lab"
    return task


class FixedDetector:
    """A detector that always finds the one leader."""

    def __init__(self, leader: Leader) -> None:
        self.leader = leader

    async def detect(self, previous: Leader | None) -> Leader:
        if previous is not None:
            await asyncio.get_running_loop().create_future()
        return self.leader

    async def close(self) -> None:
        pass


class InTestMaster:
    """Answers registrations by itself; everything else the test says."""

    def __init__(self, server: HttpServer, node: LibprocessNode) -> None:
        self._server = server
        self._node = node
        self.pid = node.pid("master")
        self.agent: Pid | None = None
        self.total_ping_timeout_s = 75.0
        self.acknowledges = True
        self.answers_registrations = True
        self.received: list[Message] = []
        self._arrived = asyncio.Condition()
        self._told: set[asyncio.Task[None]] = set()

    @property
    def leader(self) -> Leader:
        return Leader(self._server.address, self.pid)

    def send(self, message: Message, from_id: str = "master") -> None:
        assert self.agent is not None
        self._node.send(self.agent, from_id, message_name(message), message.SerializeToString())

    def run(self, task: mesos_pb2.TaskInfo, info: mesos_pb2.FrameworkInfo | None = None) -> None:
        self.send(internal_pb2.RunTaskMessage(framework=info or framework(), task=task, pid="@0.0.0.0:0"))

    def kill(self, task_id: str, grace_s: float | None = None) -> None:
        message = internal_pb2.KillTaskMessage()
        message.framework_id.value = FRAMEWORK_ID
        message.task_id.value = task_id
        if grace_s is not None:
            message.kill_policy.grace_period.nanoseconds = int(grace_s * 1e9)
        self.send(message)

    def ping(self, connected: bool = True) -> None:
        self.send(internal_pb2.PingSlaveMessage(connected=connected), OBSERVER)

    def shut_down_framework(self) -> None:
        message = internal_pb2.ShutdownFrameworkMessage()
        message.framework_id.value = FRAMEWORK_ID
        self.send(message)

    def acknowledge(self, update: internal_pb2.StatusUpdate) -> None:
        message = internal_pb2.StatusUpdateAcknowledgementMessage(uuid=update.uuid)
        message.slave_id.CopyFrom(update.slave_id)
        message.framework_id.CopyFrom(update.framework_id)
        message.task_id.CopyFrom(update.status.task_id)
        self.send(message)

    def updates(self, task_id: str) -> list[internal_pb2.StatusUpdate]:
        """What has come of a task so far, repeated ones once."""
        found = {
            message.update.uuid: message.update
            for message in self.received
            if isinstance(message, internal_pb2.StatusUpdateMessage) and message.update.status.task_id.value == task_id
        }
        return list(found.values())

    async def wait_for(self, kind: type[M], accept: Callable[[M], bool] = lambda message: True, count: int = 1) -> M:
        """The `count`-th message of a kind that is accepted, from the beginning."""
        async with asyncio.timeout(60), self._arrived:
            while len(found := [m for m in self.received if isinstance(m, kind) and accept(m)]) < count:
                await self._arrived.wait()
            return found[count - 1]

    async def wait_for_state(self, task_id: str, state: mesos_pb2.TaskState.ValueType) -> mesos_pb2.TaskStatus:
        def accept(message: internal_pb2.StatusUpdateMessage) -> bool:
            status = message.update.status
            return status.task_id.value == task_id and status.state == state

        return (await self.wait_for(internal_pb2.StatusUpdateMessage, accept)).update.status

    async def wait_for_end(self, task_id: str) -> mesos_pb2.TaskStatus:
        """The task's terminal status."""

        def accept(message: internal_pb2.StatusUpdateMessage) -> bool:
            status = message.update.status
            return status.task_id.value == task_id and status.state in TERMINAL_STATES

        return (await self.wait_for(internal_pb2.StatusUpdateMessage, accept)).update.status

    def receive(self, arrived: LibprocessMessage) -> bool:
        if arrived.to_id not in ("master", OBSERVER):
            return False
        kind = message_class(arrived.name)
        assert kind is not None, arrived.name
        message = kind.FromString(arrived.body)
        self.agent = arrived.sender
        self.received.append(message)
        self._answer(message)
        told = asyncio.ensure_future(self._tell())
        self._told.add(told)
        told.add_done_callback(self._told.discard)
        return True

    def _answer(self, message: Message) -> None:
        match message:
            case internal_pb2.RegisterSlaveMessage() if self.answers_registrations:
                registered = internal_pb2.SlaveRegisteredMessage()
                registered.slave_id.value = AGENT_ID
                registered.connection.total_ping_timeout_seconds = self.total_ping_timeout_s
                self.send(registered)
            case internal_pb2.ReregisterSlaveMessage() if self.answers_registrations:
                again = internal_pb2.SlaveReregisteredMessage(slave_id=message.slave.id)
                again.connection.total_ping_timeout_seconds = self.total_ping_timeout_s
                self.send(again)
            case internal_pb2.StatusUpdateMessage() if self.acknowledges:
                self.acknowledge(message.update)
            case _:
                pass

    async def _tell(self) -> None:
        async with self._arrived:
            self._arrived.notify_all()


@asynccontextmanager
async def in_test_master(address: Address | None = None) -> AsyncIterator[InTestMaster]:
    """A master on loopback."""
    masters: list[InTestMaster] = []

    async def refuse(request: object) -> object:
        return reply(404)

    server = await HttpServer.start(
        refuse,  # type: ignore[arg-type]
        address or TcpAddress("127.0.0.1", 0),
        lambda message: masters[0].receive(message),
    )
    bound = server.address
    assert isinstance(bound, TcpAddress)
    node = LibprocessNode("127.0.0.1", bound.port)
    masters.append(InTestMaster(server, node))
    try:
        yield masters[0]
    finally:
        await node.close()
        await server.close()
