"""What makes containers that are more than a program on the host.

There are three ways to make a container (RuntimeName): the plain one, which needs nothing of this file, an OCI runtime
(agent/oci) and the Docker engine (agent/docker). Whichever it is, a supervisor follows it, its record is in the runtime
directory, and isolation prepares and cleans up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from tfmesos.agent.containerizer.config import ContainerConfig
from tfmesos.agent.containerizer.identifiers import ContainerId
from tfmesos.agent.isolators import Limitation, Node, Prepared
from tfmesos.supervision import ProcessSpec, TreeStatistics


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningNews:
    """What is told with TASK_RUNNING of a container of the Docker engine (Mesos 1.11: its docker executor).

    `data`: what `docker inspect` says, a list of one object. `ip_address`: the container's own, if it has one.
    """

    data: bytes
    ip_address: str | None = None


class ContainerRuntime(Protocol):
    """Makes containers of one kind and takes them away.

    Called by the containerizer only: `recover` first, once; then for each container `prepare`, `wait_running`, any
    number of `set_nodes` and `kill`, `cleanup`; `close` last. Different containers at the same time.
    """

    async def prepare(self, config: ContainerConfig, prepared: Prepared, spec: ProcessSpec) -> ProcessSpec:
        """What the supervisor runs, from what it would run on the host; once isolation has prepared.

        The sandbox is there. `spec` has the command, its whole environment, its files, user and cgroups. For a DEBUG
        container: one that joins the container around it (`config.id.parent`, which runs and is of this runtime).
        Raises LaunchFailed; `cleanup` follows then, too.
        """

    async def wait_running(self, container_id: ContainerId) -> RunningNews | None:
        """Until the container runs, once its gate is open; what is to be told of it. Cancelled if it ends before."""

    async def set_nodes(self, container_id: ContainerId, wanted: tuple[Node, ...], absent: tuple[Node, ...]) -> None:
        """Have its /dev hold all wanted nodes and none of the absent ones, from now on. Raises IsolationFailed."""

    def statistics(self, container_id: ContainerId) -> TreeStatistics | None:
        """What its processes use; None if they are its supervisor's, which knows it, or nothing is known of them."""

    def kill(self, container_id: ContainerId, grace_s: float) -> bool:
        """Whether the runtime sees to the end itself, within the grace; False: the supervisor's signals do.

        Never waits. The supervised program ends with its container.
        """

    async def cleanup(self, container_id: ContainerId) -> Limitation | None:
        """The supervised program has ended: returns when nothing of the container is left, however long that lasts.

        Which limit it has passed, if the runtime knows. Idempotent, never raises; also for what was never prepared.
        Isolation's cleanup follows, then the root file system goes.
        """

    async def recover(
        self, known: Mapping[ContainerId, ContainerConfig], orphans: Mapping[ContainerId, ContainerConfig]
    ) -> None:
        """Take up what an agent before has left of these (orphans are ended: each has its `kill` and `cleanup`).

        What is left of others than those is removed. Never raises.
        """

    async def close(self) -> None:
        """Do nothing for containers any more; those that go on are left to the next agent. Never raises."""
