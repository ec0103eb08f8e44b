"""One container, from its launch to its end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from tfmesos.agent.containerizer.config import ContainerConfig
from tfmesos.agent.containerizer.identifiers import ContainerId
from tfmesos.agent.containerizer.parts import Parts
from tfmesos.agent.containerizer.runtimes import RunningNews
from tfmesos.agent.containerizer.specification import console
from tfmesos.agent.isolators import Limitation
from tfmesos.supervision import ConsoleStream, LetGo, Supervised, SupervisionError, Termination
from tfmesos.wire import mesos_pb2

_MIB = 1024 * 1024
EndChildren = Callable[[ContainerId], Awaitable[None] | None]
"""Ends what is nested in a container; what it returns is to be awaited until nothing of that is left."""


class Container:
    """A supervised program in its sandbox. Made by `Containerizer.launch` and `Containerizer.recover` only."""

    def __init__(
        self,
        config: ContainerConfig,
        process: Supervised | Termination,
        *,
        parts: Parts,
        end_children: EndChildren,
    ) -> None:
        """A process that is a Termination is one that ended while no agent ran."""
        self.config = config
        self.limitation: Limitation | None = None
        """The limit that it has passed and was killed for; complete when `wait` returns."""
        self._process = process if isinstance(process, Supervised) else None
        self._parts = parts
        self._runtime = parts.runtime_of(config)
        self._end_children = end_children
        self._killing: asyncio.Task[None] | None = None
        self._grace_until = float("inf")
        self._watching = asyncio.get_running_loop().create_task(self._watch(process), name=f"container {config.id}")

    @property
    def id(self) -> ContainerId:
        return self.config.id

    @property
    def directory(self) -> str:
        """The sandbox."""
        return self.config.directory

    @property
    def pid(self) -> int:
        """Of the supervisor: what stands for the container on this machine. 0 if it ended while no agent ran."""
        return self._process.pid if self._process is not None else 0

    @property
    def main_pid(self) -> int | None:
        """Of the program; None while it waits at its gate and if it could not be executed."""
        return self._process.task_pid if self._process is not None else None

    @property
    def has_console(self) -> bool:
        """Whether it can be attached to."""
        return console(self.config) is not None

    @property
    def is_ending(self) -> bool:
        """Whether a kill was asked for, or its program has ended."""
        return self._killing is not None or self._process is None or self._process.termination is not None

    @property
    def termination(self) -> Termination | None:
        """What `wait` answers; None before."""
        return self._watching.result() if self._watching.done() and not self._watching.cancelled() else None

    async def open_gate(self) -> None:
        """Start the program; returns when it runs or could not be executed, which `wait` tells. Called once."""
        if self._process is not None:
            await self._process.release()

    async def wait_running(self) -> RunningNews | None:
        """Until it runs, once its gate is open, as its runtime sees it; or until it has ended. What is told of it."""
        if self._runtime is None:
            return None
        running = asyncio.ensure_future(self._runtime.wait_running(self.id))
        try:
            await asyncio.wait([running, self._watching], return_when=asyncio.FIRST_COMPLETED)
            return running.result() if running.done() else None
        finally:
            running.cancel()

    def kill(self, grace_s: float) -> None:
        """End all: nested containers at once, then SIGTERM to every process, SIGKILL to what is left after the grace.

        Before `open_gate` the program never starts. Repeated calls can only shorten the grace.
        """
        until = time.monotonic() + grace_s
        if self._process is None or until >= self._grace_until:
            return
        self._grace_until = until
        if self._killing is None:
            self._killing = asyncio.get_running_loop().create_task(self._kill(), name=f"kill of {self.config.id}")
        elif self._killing.done():
            self._end(grace_s)

    def exceed(self, limitation: Limitation) -> None:
        """It has passed a limit: kill it at once."""
        self.limitation = self.limitation or limitation
        self.kill(0.0)

    def signal(self, number: int) -> None:
        """Send a signal to the program alone. Raises ProcessLookupError if it does not run (any more, or yet)."""
        if self._process is None or self._process.termination is not None or self._process.task_pid is None:
            raise ProcessLookupError
        self._process.signal(number)

    async def attach(self, *, output: bool = True, input: bool = False) -> ConsoleStream:
        """Its stdin and output, also before `open_gate`. Raises ConsoleBusy, SupervisionError."""
        if self._process is None:
            raise SupervisionError("the container has ended")
        return await self._process.console(output=output, input=input)

    async def wait(self) -> Termination:
        """How it ended; when this returns nothing of the container is left, nor of those nested in it.

        What it held, cgroups and GPUs, is free by then.
        """
        return await asyncio.shield(self._watching)

    def leave(self) -> None:
        """Follow it no longer, nor what is still to be cleaned up of it: `wait` raises CancelledError then."""
        self._watching.cancel()

    def when_ended(self, callback: Callable[[], None]) -> None:
        """Call back once nothing of it is left; never if it outlives this agent."""
        self._watching.add_done_callback(lambda watching: None if watching.cancelled() else callback())

    def status(self) -> mesos_pb2.ContainerStatus:
        """What status updates and operators are told of it."""
        status = mesos_pb2.ContainerStatus()
        status.container_id.CopyFrom(self.config.id.to_proto())
        if self.termination is None:
            status.executor_pid = self.pid
            self._parts.isolation.fill_status(self.id, status)
        return status

    def statistics(self) -> mesos_pb2.ResourceStatistics:
        """What its processes use now, beside what they asked for (zeros after the end)."""
        found = mesos_pb2.ResourceStatistics(timestamp=time.time())
        for resource in self.config.resources:
            if resource.name == "cpus":
                found.cpus_soft_limit += resource.scalar.value
            elif resource.name == "mem":
                found.mem_soft_limit_bytes += int(resource.scalar.value * _MIB)
        if self._process is not None:
            its = self._runtime.statistics(self.id) if self._runtime is not None else None
            used = its or self._process.statistics()
            found.processes, found.threads = used.processes, used.threads
            found.cpus_user_time_secs, found.cpus_system_time_secs = used.user_s, used.system_s
            found.mem_rss_bytes = used.rss_bytes
            self._parts.isolation.fill_usage(self.id, found)
        return found

    async def _kill(self) -> None:
        await self._without_children()
        self._end(max(self._grace_until - time.monotonic(), 0.0))

    def _end(self, grace_s: float) -> None:
        """By its runtime, if that does it better than signals do."""
        process = self._process
        if process is None or process.termination is not None:
            return
        if self._runtime is None or not process.is_released or not self._runtime.kill(self.id, grace_s):
            process.kill(grace_s)

    async def _watch(self, process: Supervised | Termination) -> Termination:
        try:
            termination = process if isinstance(process, Termination) else await process.wait()
        except LetGo:  # it goes on without this agent
            raise asyncio.CancelledError from None
        await self._without_children()
        if self._parts.is_active:
            passed = await self._parts.cleanup(self.config)
            self.limitation = self.limitation or passed
        return termination

    async def _without_children(self) -> None:
        ending = self._end_children(self.config.id)
        if ending is not None:
            await ending
