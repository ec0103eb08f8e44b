"""A framework on our own master and agent."""

import asyncio
import os
import pwd
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tfmesos.client import AgentClient, SchedulerClient
from tfmesos.discovery import build_detector
from tfmesos.local import LocalCluster, LocalNeeds
from tfmesos.transport import UnixAddress
from tfmesos.wire import mesos_pb2, scheduler_pb2
from tfmesos.wire.text import state_name

Event = scheduler_pb2.Event
Operation = mesos_pb2.Offer.Operation
_PATIENCE_S = 20.0


class Framework:
    """Launches on the first offer; reads what comes back."""

    def __init__(self, client: SchedulerClient, offer: mesos_pb2.Offer) -> None:
        self.client = client
        self.offer = offer
        self._seen: set[bytes] = set()

    def task(self, id_: str, command: str = "", cpus: float = 0.1) -> mesos_pb2.TaskInfo:
        info = mesos_pb2.TaskInfo(name=id_, task_id=mesos_pb2.TaskID(value=id_), agent_id=self.offer.agent_id)
        for name, amount in (("cpus", cpus), ("mem", 32)):
            info.resources.append(_scalar(name, amount))
        if command:
            info.command.value = command
        return info

    def executor(self, id_: str, kind: mesos_pb2.ExecutorInfo.Type.ValueType) -> mesos_pb2.ExecutorInfo:
        info = mesos_pb2.ExecutorInfo(type=kind, executor_id=mesos_pb2.ExecutorID(value=id_))
        info.framework_id.value = self.client.framework_id or ""
        for name, amount in (("cpus", 0.1), ("mem", 32), ("disk", 32)):
            info.resources.append(_scalar(name, amount))
        return info

    async def launch(self, *tasks: mesos_pb2.TaskInfo) -> None:
        operation = Operation(type=Operation.LAUNCH, launch=Operation.Launch(task_infos=tasks))
        await self.client.accept([self.offer.id], [operation])

    async def launch_groups(self, executor: mesos_pb2.ExecutorInfo, *groups: Sequence[mesos_pb2.TaskInfo]) -> None:
        launches = [
            Operation.LaunchGroup(executor=executor, task_group=mesos_pb2.TaskGroupInfo(tasks=tasks))
            for tasks in groups
        ]
        operations = [Operation(type=Operation.LAUNCH_GROUP, launch_group=launch) for launch in launches]
        await self.client.accept([self.offer.id], operations)

    async def message(self, executor_id: str, data: bytes) -> None:
        call = scheduler_pb2.Call(type=scheduler_pb2.Call.MESSAGE)
        call.message.agent_id.CopyFrom(self.offer.agent_id)
        call.message.executor_id.value, call.message.data = executor_id, data
        await self.client.call(call)

    async def shut_down(self, executor_id: str) -> None:
        call = scheduler_pb2.Call(type=scheduler_pb2.Call.SHUTDOWN)
        call.shutdown.agent_id.CopyFrom(self.offer.agent_id)
        call.shutdown.executor_id.value = executor_id
        await self.client.call(call)

    async def next_status(self) -> mesos_pb2.TaskStatus:
        """The next status that was not seen before, acknowledged."""
        while True:
            event = await self.next_event(lambda event: event.type == Event.UPDATE)
            status = event.update.status
            await self.client.acknowledge(status)
            if not status.uuid or status.uuid not in self._seen:
                self._seen.add(status.uuid)
                return status

    async def told(self, count: int = 1) -> list[str]:
        """The next statuses in short."""
        return [_short(await self.next_status()) for _ in range(count)]

    async def next_event(self, wanted: Callable[[Event], bool]) -> Event:
        async with asyncio.timeout(_PATIENCE_S):
            async for event in self.client:
                if wanted(event):
                    return event
        raise AssertionError("the master ended the subscription")


def _scalar(name: str, amount: float) -> mesos_pb2.Resource:
    scalar = mesos_pb2.Value.Scalar(value=amount)
    return mesos_pb2.Resource(name=name, type=mesos_pb2.Value.SCALAR, scalar=scalar)


def _short(status: mesos_pb2.TaskStatus) -> str:
    message = f" {status.message}" if status.HasField("message") else ""
    health = f" {'healthy' if status.healthy else 'unhealthy'}" if status.HasField("healthy") else ""
    return f"{status.task_id.value} {state_name(status.state)}{health}{message}"


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[LocalCluster]:
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "s"), "XDG_RUNTIME_DIR": str(tmp_path / "r")}
    for name in ("s", "r"):
        (tmp_path / name).mkdir()
    async with await LocalCluster.start(LocalNeeds(cpus=2, mem_mb=512, ports=0), environment) as cluster:
        yield cluster


@asynccontextmanager
async def framework_on(master: str, *, checkpoint: bool = False) -> AsyncIterator[Framework]:
    """A framework with an offer in its hand; torn down at the end."""
    user = pwd.getpwuid(os.geteuid()).pw_name
    info = mesos_pb2.FrameworkInfo(user=user, name="test", roles=["*"], checkpoint=checkpoint)
    for capability in ("MULTI_ROLE", "RESERVATION_REFINEMENT", "PARTITION_AWARE", "TASK_KILLING_STATE"):
        info.capabilities.add(type=mesos_pb2.FrameworkInfo.Capability.Type.Value(capability))
    async with SchedulerClient(build_detector(master), info) as client:
        async for event in client:
            if event.type == Event.OFFERS:
                yield Framework(client, event.offers.offers[0])
                break
        await client.teardown()


@pytest.fixture
async def framework(cluster: LocalCluster) -> AsyncIterator[Framework]:
    async with framework_on(cluster.master) as framework:
        yield framework


@pytest.fixture
async def agent(cluster: LocalCluster) -> AsyncIterator[AgentClient]:
    path = Path(cluster.master.removeprefix("unix://")).with_name("agent.sock")
    async with AgentClient(UnixAddress(str(path))) as client:
        yield client


@pytest.fixture
def echo_command() -> mesos_pb2.CommandInfo:
    program = Path(__file__).with_name("echo_executor.py")
    return mesos_pb2.CommandInfo(shell=False, value=sys.executable, arguments=[sys.executable, str(program)])
