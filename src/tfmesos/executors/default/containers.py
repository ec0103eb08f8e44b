"""The container calls of the executor: each is repeated until the agent has answered it."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from tfmesos.checks import NotLooked
from tfmesos.client import AgentClient, CallRejected
from tfmesos.transport import TransportError
from tfmesos.wire import agent_pb2, mesos_pb2

_PAUSE_S = 1.0
"""Between two tries (Mesos 1.11)."""
_RECOVERING = 503
_FAREWELL_S = 5.0
"""How long a check's container that is being dropped may take to end."""

A = TypeVar("A")


class Containers:
    """Nested containers, by the agent's API. An agent that is away or recovers is asked again each second."""

    def __init__(self, agent: AgentClient, spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]) -> None:
        self._agent = agent
        self._spawn = spawn
        self._wanted: dict[str, int] = {}

    async def launch(self, launch: agent_pb2.Call.LaunchContainer) -> str | None:
        """None when the container runs; else why the agent would not start it."""
        try:
            await self._until_answered(lambda: self._agent.launch_container(launch))
        except CallRejected as refusal:
            return refusal.body
        return None

    async def wait(self, container_id: mesos_pb2.ContainerID) -> agent_pb2.Response.WaitContainer | None:
        """How it ended; None if the agent cannot tell."""
        try:
            return await self._until_answered(lambda: self._agent.wait_container(container_id))
        except CallRejected:
            return None

    def want_signal(self, container_id: mesos_pb2.ContainerID, number: int, on_sent: Callable[[], None]) -> None:
        """Have the signal sent, whatever the agent says against it, until `forget` or until another is wanted."""
        self._wanted[container_id.value] = number
        self._spawn(self._signal(container_id, number, on_sent))

    def forget(self, container: str) -> None:
        """The container is over: no more signals."""
        self._wanted.pop(container, None)

    async def run_check(self, parent: mesos_pb2.ContainerID, command: mesos_pb2.CommandInfo) -> int:
        """Run a command inside a task's container; its wait status. A RunCommand of the checks."""
        container_id = mesos_pb2.ContainerID(value=f"check-{uuid.uuid4()}", parent=parent)
        try:
            async with self._agent.session(container_id, command) as output:
                async for _ in output:
                    pass
            result = await self._agent.wait_container(container_id)
        except (CallRejected, TransportError) as error:
            raise NotLooked(str(error)) from error
        finally:
            await self._drop(container_id)
        if result is None or not result.HasField("exit_status"):
            raise NotLooked("the check's command ended unobserved")
        return result.exit_status

    async def _drop(self, container_id: mesos_pb2.ContainerID) -> None:
        """The agent ends a session's container when its connection is closed; then nothing of it shall stay."""
        with suppress(TransportError, CallRejected, TimeoutError):
            async with asyncio.timeout(_FAREWELL_S):
                await self._agent.wait_container(container_id)
                await self._agent.remove_container(container_id)

    async def _signal(self, container_id: mesos_pb2.ContainerID, number: int, on_sent: Callable[[], None]) -> None:
        """Mesos 1.11: until a process is there, and after it is gone, the agent refuses; it is asked each second."""
        while True:
            with suppress(TransportError, CallRejected):
                if await self._agent.kill_container(container_id, number):
                    on_sent()
                    return
            await asyncio.sleep(_PAUSE_S)
            if self._wanted.get(container_id.value) != number:
                return

    async def _until_answered(self, ask: Callable[[], Awaitable[A]]) -> A:
        while True:
            try:
                return await ask()
            except TransportError:
                pass
            except CallRejected as refusal:
                if refusal.status != _RECOVERING:
                    raise
            await asyncio.sleep(_PAUSE_S)
