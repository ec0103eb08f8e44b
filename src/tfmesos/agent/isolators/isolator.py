"""What an isolator is: one thing that keeps containers apart, in a file of its own (Mesos 1.11: slave/isolator.hpp)."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from tfmesos.agent.isolators.view import View
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2

if TYPE_CHECKING:  # the containerizer brings isolators in
    from tfmesos.agent.containerizer.config import ContainerConfig
    from tfmesos.agent.containerizer.identifiers import ContainerId
    from tfmesos.cgroups import DeviceRule

OWN = ""
"""Whose share is the container's own: what its executor, its command task or its launch names."""
Shares = Mapping[str, Resources]
"""What a container may use: OWN, and beside it the part of each of its executor's tasks, by task id."""


def total_of(shares: Shares, name: str) -> int:
    """How much of a scalar resource all shares have together, in thousandths."""
    return sum(share.scalar(name) for share in shares.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchEdits:
    """What an isolator wants of a container, all of it, each time that it is asked. One place merges and applies it.

    `environment`: beneath what the command says; `overrides`: in place of it. `devices`: what may be used beside the
    devices that all may. `withdrawn`: what no process of the container may hold open any more before `settle` is
    called. `view`: what the container sees; None if it may as well be a program on the host.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    overrides: Mapping[str, str] = field(default_factory=dict)
    devices: tuple[DeviceRule, ...] = ()
    withdrawn: tuple[DeviceRule, ...] = ()
    view: View | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limitation:
    """A container has passed a limit and is to be ended; what its tasks' frameworks are told."""

    reason: mesos_pb2.TaskStatus.Reason.ValueType
    message: str
    resources: tuple[mesos_pb2.Resource, ...] = ()


class Isolator(Protocol):
    """One way to keep containers apart.

    Called by Isolation only, for one container never twice at once: `recover` first, once; for each container
    `prepare`, `isolate`, any number of `update`, `cleanup`. (Not for DEBUG containers; for others that share all with
    the container they are nested in, and those of Docker, only where the isolator says so.) Isolators are called in the
    table's order, `cleanup` in reverse. The cgroup is there when `prepare` is called, the rules of devices are in force
    when `isolate` is. `cleanup` comes when no process of the container is left and its cgroup is gone; also after a
    `prepare` that failed, also twice, also for what is not known. An `update` that is under way then is cancelled
    first.
    """

    @property
    def name(self) -> str:
        """As in --isolation."""

    @property
    def has_limits(self) -> bool:
        """Whether containers that pass a limit of this isolator are ended."""

    @property
    def heeds_shares(self) -> bool:
        """Whether a container's shares matter: only then it has `update`."""

    @property
    def serves_all(self) -> bool:
        """Whether `prepare` comes for nested containers that share all they use with the one around them, too."""

    @property
    def serves_docker(self) -> bool:
        """Whether containers of the Docker engine are its business, too; if not, only their `cleanup` comes."""

    def wants_view(self, config: ContainerConfig) -> bool:
        """Whether `prepare` will say what a container without an image is to see; if not, it may run on the host."""

    async def recover(self, known: Mapping[ContainerId, ContainerConfig], orphans: Set[ContainerId]) -> None:
        """Take up what an agent before has left. Orphans are ended: each has its `cleanup` when it is gone."""

    async def prepare(self, config: ContainerConfig, shares: Shares) -> LaunchEdits:
        """Get ready for a container. Raises IsolationFailed."""

    async def update(self, container_id: ContainerId, shares: Shares) -> LaunchEdits:
        """It has other shares from now on: all edits anew. Raises IsolationFailed, and nothing is changed then."""

    async def settle(self, container_id: ContainerId) -> None:
        """The last edits are in force, and nothing in the container holds open what was withdrawn."""

    def environment_of(self, container_id: ContainerId) -> Mapping[str, str]:
        """What a container is told that is not prepared, since it shares all with the one it is nested in."""

    async def isolate(self, container_id: ContainerId, pid: int) -> None:
        """Its first process waits at the gate, in its cgroup; `pid` is its supervisor's. Raises IsolationFailed."""

    async def wait_limitation(self, container_id: ContainerId) -> Limitation | None:
        """Until the container passes a limit; None if it has none, or is gone. Called only if `has_limits`."""

    def passed(self, container_id: ContainerId) -> Limitation | None:
        """What limit a container has passed whose processes are gone; nobody may have been told yet."""

    def fill_status(self, container_id: ContainerId, status: mesos_pb2.ContainerStatus) -> None:
        """Tell what is known of the container."""

    async def refresh_usage(self) -> None:
        """Look anew at what `fill_usage` cannot look at itself; comes before somebody asks for many of them."""

    def fill_usage(self, container_id: ContainerId, usage: mesos_pb2.ResourceStatistics) -> None:
        """Tell what the container uses and may use."""

    async def cleanup(self, container_id: ContainerId) -> None:
        """Nothing of the container is left: what it held is free. Never raises."""


class QuietIsolator:
    """The answers of an isolator that has nothing to say; for those that override only what they care for."""

    name = ""
    has_limits = False
    heeds_shares = True
    serves_all = False
    serves_docker = False

    def wants_view(self, config: ContainerConfig) -> bool:
        """It sees what the host does."""
        return False

    async def recover(self, known: Mapping[ContainerId, ContainerConfig], orphans: Set[ContainerId]) -> None:
        """Nothing is kept."""

    async def prepare(self, config: ContainerConfig, shares: Shares) -> LaunchEdits:
        """Nothing is wanted."""
        return LaunchEdits()

    async def update(self, container_id: ContainerId, shares: Shares) -> LaunchEdits:
        """Nothing is wanted."""
        return LaunchEdits()

    async def settle(self, container_id: ContainerId) -> None:
        """Nothing waits for it."""

    def environment_of(self, container_id: ContainerId) -> Mapping[str, str]:
        """Nothing is to be told."""
        return {}

    async def isolate(self, container_id: ContainerId, pid: int) -> None:
        """Nothing is to be done."""

    async def wait_limitation(self, container_id: ContainerId) -> Limitation | None:
        """There is no limit."""
        return None

    def passed(self, container_id: ContainerId) -> Limitation | None:
        """There is no limit."""
        return None

    def fill_status(self, container_id: ContainerId, status: mesos_pb2.ContainerStatus) -> None:
        """Nothing is known."""

    async def refresh_usage(self) -> None:
        """There is nothing to look at."""

    def fill_usage(self, container_id: ContainerId, usage: mesos_pb2.ResourceStatistics) -> None:
        """Nothing is known."""

    async def cleanup(self, container_id: ContainerId) -> None:
        """Nothing is held."""


class ViewIsolator(QuietIsolator):
    """One that only says, by `prepare`, what a container sees: each container that is made, be it nested or not."""

    heeds_shares = False
    serves_all = True
