"""All isolators of an agent as one: what the containerizer calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tfmesos.agent.isolators.isolator import OWN, Isolator, Limitation, Shares
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2

if TYPE_CHECKING:  # the containerizer brings isolators in
    from tfmesos.agent.containerizer.config import ContainerConfig
    from tfmesos.agent.containerizer.identifiers import ContainerId
    from tfmesos.agent.flags import AgentFlags


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What a container's first process is started with.

    `environment`: beneath what the command says. `procs_files`: what it writes itself into, in this order.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    procs_files: tuple[str, ...] = ()


class Isolation:
    """Keeps containers apart as --isolation and --launcher say. `create` makes it, `recover` comes before all else."""

    def __init__(self, isolators: Iterable[Isolator] = ()) -> None:
        self._isolators = tuple(isolators)

    @classmethod
    async def create(cls, flags: AgentFlags, others: Iterable[Isolator] = ()) -> Isolation:
        """What the flags ask for; `others` are isolators that are made elsewhere (of GPUs), by name in --isolation.

        Raises BadAgentFlags: the text names what is missing on this machine, and the remedy.
        """
        return cls(others)

    @property
    def is_active(self) -> bool:
        """Whether there is anything to do for containers; if not, none of the calls below need be made."""
        return bool(self._isolators)

    @property
    def is_resizing(self) -> bool:
        """Whether it matters to a container that its executor has more or fewer tasks: `update` is to be called."""
        return bool(self._isolators)

    def listen(self, on_limitation: Callable[[ContainerId, Limitation], None]) -> None:
        """Call back, once for a container, when it passes a limit: it is to be ended."""

    async def recover(self, known: Mapping[ContainerId, ContainerConfig], orphans: Set[ContainerId]) -> None:
        """Take up what an agent before has left of these containers; cgroups of no container are destroyed.

        Each of both has its `cleanup` when nothing of it is left.
        """

    async def prepare(self, config: ContainerConfig) -> Prepared:
        """Make a container's cgroup, with its rules and limits. Raises IsolationFailed; nothing is left then."""
        return Prepared()

    async def isolate(self, container_id: ContainerId, pid: int) -> None:
        """Its first process waits at the gate. Raises IsolationFailed: then it is to be ended and cleaned up."""

    async def update(self, container_id: ContainerId, shares: Shares) -> None:
        """The container's shares are these from now on.

        Returns when what was taken is out of reach of its processes, which may last. Raises IsolationFailed when it
        cannot be given what is new; it keeps what it had then.
        """

    def fill_status(self, container_id: ContainerId, status: mesos_pb2.ContainerStatus) -> None:
        """Tell what the container has."""

    def fill_usage(self, container_id: ContainerId, usage: mesos_pb2.ResourceStatistics) -> None:
        """Tell what the container uses and may use."""

    async def cleanup(self, container_id: ContainerId) -> None:
        """End what is left in the container's cgroup, remove it, and free what it held. Idempotent, never raises."""

    async def close(self) -> None:
        """Watch nothing any more; what containers that go on hold stays theirs."""


def shares_of(config: ContainerConfig) -> Shares:
    """What a container starts with: its own resources and those of the tasks that come with it."""
    return {OWN: Resources.from_proto(config.resources), **config.shares}
