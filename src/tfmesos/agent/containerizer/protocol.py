"""What the agent wants of a containerizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tfmesos.agent.errors import AgentError
from tfmesos.supervision import Termination
from tfmesos.wire import mesos_pb2


class LaunchFailed(AgentError):
    """A container could not be made; nothing of it is left. The text goes to the framework."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerPlace:
    """Where a container belongs."""

    container_id: str
    agent_id: str
    agent_pid: str
    framework: mesos_pb2.FrameworkInfo
    executor_id: str


class Container(Protocol):
    """A container that was launched and not yet seen to end."""

    @property
    def pid(self) -> int:
        """Of what stands for the executor: reported as `executor_pid`."""

    @property
    def directory(self) -> str:
        """The sandbox."""

    async def open_gate(self) -> None:
        """Start the task's program; returns when it runs or could not be executed, which `wait` tells. Called once."""

    def kill(self, grace_s: float) -> None:
        """End all processes; before `open_gate` the program never starts. Repeated calls can only shorten the grace."""

    async def wait(self) -> Termination:
        """How it ended; when this returns nothing of the container is left."""


class Containerizer(Protocol):
    """Makes containers. `start` comes first, `close` last; between them any number of launches at once."""

    async def start(self) -> None:
        """Get ready."""

    async def launch(self, task: mesos_pb2.TaskInfo, place: ContainerPlace) -> Container:
        """Make the sandbox and fork the container's first process, which waits at a gate.

        Raises LaunchFailed, also for everything in the task that this containerizer cannot serve.
        """

    async def close(self) -> None:
        """End all containers and wait until nothing of them is left. Idempotent."""
