"""A framework with GPU_RESOURCES that takes all offers of one agent, and knows how many GPUs are offered to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from tfmesos.client import SchedulerClient
from tfmesos.discovery import build_detector
from tfmesos.wire import mesos_pb2, scheduler_pb2
from tfmesos.wire.text import TERMINAL_STATES

Event = scheduler_pb2.Event
Operation = mesos_pb2.Offer.Operation
T = TypeVar("T")
_PATIENCE_S = 20.0
_CAPABILITIES = (
    "MULTI_ROLE", "RESERVATION_REFINEMENT", "PARTITION_AWARE", "TASK_KILLING_STATE", "GPU_RESOURCES",
)  # fmt: skip


class GpuFramework:
    """Holds every offer until it launches; acknowledges every update."""

    def __init__(self, client: SchedulerClient, hostname: str) -> None:
        self.client = client
        self.offers: dict[str, mesos_pb2.Offer] = {}
        self.statuses: dict[str, list[mesos_pb2.TaskStatus]] = {}
        """By task id, each update once."""
        self._hostname = hostname
        self._changed = asyncio.Condition()

    async def follow(self) -> None:
        """Hear what the master says, until cancelled."""
        async for event in self.client:
            async with self._changed:
                await self._hear(event)
                self._changed.notify_all()

    async def until(self, condition: Callable[[], T], timeout_s: float = _PATIENCE_S) -> T:
        """The first true answer of a condition on offers and statuses."""
        async with asyncio.timeout(timeout_s), self._changed:
            return await self._changed.wait_for(condition)

    @property
    def gpus_offered(self) -> int:
        return round(sum(amount_of(offer.resources, "gpus") for offer in self.offers.values()))

    def has_ended(self, task_id: str) -> bool:
        return any(status.state in TERMINAL_STATES for status in self.statuses.get(task_id, []))

    def is_running(self, task_id: str) -> bool:
        told = self.statuses.get(task_id, [])
        return mesos_pb2.TASK_RUNNING in [status.state for status in told[-1:]] and not self.has_ended(task_id)

    def launch_failures(self) -> list[mesos_pb2.TaskStatus]:
        """Of tasks that the agent could not give what it had offered."""
        reasons = (
            mesos_pb2.TaskStatus.REASON_CONTAINER_LAUNCH_FAILED,
            mesos_pb2.TaskStatus.REASON_CONTAINER_UPDATE_FAILED,
        )
        return [status for told in self.statuses.values() for status in told if status.reason in reasons]

    async def wait_running(self, *task_ids: str) -> None:
        await self._wait(self.is_running, task_ids)

    async def wait_ended(self, *task_ids: str) -> None:
        await self._wait(self.has_ended, task_ids)

    def states(self, task_id: str) -> list[str]:
        return [mesos_pb2.TaskState.Name(status.state) for status in self.statuses.get(task_id, [])]

    async def wait_offers(self, gpus: int) -> None:
        """Until exactly so many GPUs are offered, and something else is, too."""
        try:
            await self.until(lambda: self.offers and self.gpus_offered == gpus)
        except TimeoutError:
            raise AssertionError(f"{self.gpus_offered} GPUs are offered, not {gpus}") from None

    def task(self, id_: str, command: str = "", gpus: float = 0) -> mesos_pb2.TaskInfo:
        info = mesos_pb2.TaskInfo(name=id_, task_id=mesos_pb2.TaskID(value=id_))
        fill(info.resources, cpus=0.1, mem=32, gpus=gpus)
        if command:
            info.command.value = command
        return info

    def executor(
        self, id_: str, kind: mesos_pb2.ExecutorInfo.Type.ValueType, gpus: float = 0
    ) -> mesos_pb2.ExecutorInfo:
        info = mesos_pb2.ExecutorInfo(type=kind, executor_id=mesos_pb2.ExecutorID(value=id_))
        info.framework_id.value = self.client.framework_id or ""
        fill(info.resources, cpus=0.1, mem=32, disk=32, gpus=gpus)
        return info

    async def launch(self, *tasks: mesos_pb2.TaskInfo) -> None:
        agent_id = await self._agent()
        for task in tasks:
            task.agent_id.CopyFrom(agent_id)
        await self._accept(Operation(type=Operation.LAUNCH, launch=Operation.Launch(task_infos=tasks)))

    async def launch_group(self, executor: mesos_pb2.ExecutorInfo, tasks: Sequence[mesos_pb2.TaskInfo]) -> None:
        agent_id = await self._agent()
        for task in tasks:
            task.agent_id.CopyFrom(agent_id)
        launch = Operation.LaunchGroup(executor=executor, task_group=mesos_pb2.TaskGroupInfo(tasks=tasks))
        await self._accept(Operation(type=Operation.LAUNCH_GROUP, launch_group=launch))

    async def kill(self, task_id: str) -> None:
        await self.client.kill(mesos_pb2.TaskID(value=task_id))

    async def reconcile(self, task_ids: Iterable[str]) -> None:
        """Let the master tell what it knows of these."""
        await self.client.reconcile([(mesos_pb2.TaskID(value=task_id), None) for task_id in task_ids])

    async def shut_down(self, executor_id: str, agent_id: mesos_pb2.AgentID) -> None:
        call = scheduler_pb2.Call(type=scheduler_pb2.Call.SHUTDOWN)
        call.shutdown.agent_id.CopyFrom(agent_id)
        call.shutdown.executor_id.value = executor_id
        await self.client.call(call)

    async def _wait(self, condition: Callable[[str], bool], task_ids: tuple[str, ...]) -> None:
        try:
            await self.until(lambda: all(map(condition, task_ids)))
        except TimeoutError:
            raise AssertionError({task_id: self.statuses.get(task_id) for task_id in task_ids}) from None

    async def _agent(self) -> mesos_pb2.AgentID:
        await self.until(lambda: self.offers)
        return next(iter(self.offers.values())).agent_id

    async def _accept(self, *operations: mesos_pb2.Offer.Operation) -> None:
        offers = [offer.id for offer in self.offers.values()]
        self.offers.clear()
        await self.client.accept(offers, operations, mesos_pb2.Filters(refuse_seconds=0))

    async def _hear(self, event: Event) -> None:
        match event.type:
            case Event.SUBSCRIBED:
                self.offers.clear()
            case Event.OFFERS:
                ours = [offer for offer in event.offers.offers if self._hostname in ("", offer.hostname)]
                self.offers.update({offer.id.value: offer for offer in ours})
            case Event.RESCIND:
                self.offers.pop(event.rescind.offer_id.value, None)
            case Event.UPDATE:
                await self._hear_status(event.update.status)

    async def _hear_status(self, status: mesos_pb2.TaskStatus) -> None:
        told = self.statuses.setdefault(status.task_id.value, [])
        await self.client.acknowledge(status)
        if not status.uuid or status.uuid not in {before.uuid for before in told}:
            told.append(status)


def fill(into: object, **amounts: float) -> None:
    """Resources of these names, where there are any."""
    for name, amount in amounts.items():
        if amount:
            resource = mesos_pb2.Resource(name=name, type=mesos_pb2.Value.SCALAR)
            resource.scalar.value = amount
            into.append(resource)  # type: ignore[attr-defined]


def amount_of(resources: Sequence[mesos_pb2.Resource], name: str) -> float:
    return sum(resource.scalar.value for resource in resources if resource.name == name)


@asynccontextmanager
async def gpu_framework(master: str, *, checkpoint: bool = False, hostname: str = "") -> AsyncIterator[GpuFramework]:
    """One that is subscribed; torn down at the end. `hostname`: it takes the offers of this agent alone."""
    info = mesos_pb2.FrameworkInfo(user="root", name="gpus", roles=["*"], checkpoint=checkpoint)
    info.failover_timeout = 600.0 if checkpoint else 0.0
    for capability in _CAPABILITIES:
        info.capabilities.add(type=mesos_pb2.FrameworkInfo.Capability.Type.Value(capability))
    async with SchedulerClient(build_detector(master), info) as client:
        framework = GpuFramework(client, hostname)
        following = asyncio.create_task(framework.follow())
        try:
            await framework.until(lambda: client.framework_id)
            yield framework
            await client.teardown()
        finally:
            following.cancel()
            await asyncio.wait({following})
