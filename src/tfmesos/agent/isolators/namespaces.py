"""namespaces/pid and namespaces/ipc: processes and shared memory of a container's own (Mesos 1.11).

/dev/shm goes with the namespace of System V's shared memory, and can be sized.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import TYPE_CHECKING

from tfmesos.agent.isolators.errors import IsolationFailed
from tfmesos.agent.isolators.filesystem import DEFAULT_SHM, PROC, SHM_OPTIONS
from tfmesos.agent.isolators.isolator import LaunchEdits, Shares, ViewIsolator
from tfmesos.agent.isolators.view import Mount, Namespace, View
from tfmesos.wire import mesos_pb2

if TYPE_CHECKING:
    from tfmesos.agent.containerizer.config import ContainerConfig
    from tfmesos.agent.containerizer.identifiers import ContainerId

_Linux = mesos_pb2.LinuxInfo
_NONE = _Linux()


class PidNamespaceIsolator(ViewIsolator):
    """A container sees its own processes only, and all end with its first; unless it asks for those around it."""

    name = "namespaces/pid"

    def __init__(self, *, may_share_agents: bool) -> None:
        """`may_share_agents`: whether a container that is not nested can ask for it."""
        self._may_share_agents = may_share_agents

    def wants_view(self, config: ContainerConfig) -> bool:
        """Unless it asks for the agent's processes."""
        return config.id.parent is not None or not _linux(config).share_pid_namespace

    async def prepare(self, config: ContainerConfig, shares: Shares) -> LaunchEdits:
        """Raises IsolationFailed."""
        mounts = (PROC,) if config.root is None else ()  # with an image it is there
        if not _linux(config).share_pid_namespace:
            return LaunchEdits(view=View(namespaces=frozenset({Namespace.PID}), mounts=mounts))
        if config.id.parent is not None:
            return LaunchEdits(view=View(shared=frozenset({Namespace.PID}), mounts=mounts))
        if not self._may_share_agents:
            raise IsolationFailed("Sharing agent pid namespace with the top-level container is not allowed")
        return LaunchEdits()


class IpcNamespaceIsolator(ViewIsolator):
    """A container has its own System V shared memory, and /dev/shm, or those of the container around it.

    Which, says `ipc_mode`. PRIVATE: its own. SHARE_PARENT: those around it. Unset, as before Mesos 1.9: one that is not
    nested has its own namespace, a nested one shares; /dev/shm is its own if it has an image or names a size, else the
    agent's.
    """

    name = "namespaces/ipc"

    def __init__(self, *, may_share_agents: bool, default_shm_size: int | None) -> None:
        """`may_share_agents`: as for processes. `default_shm_size`: in bytes; None: half of the machine's memory."""
        self._may_share_agents = may_share_agents
        self._default_shm_size = default_shm_size
        self._with_own_shm: set[ContainerId] = set()

    async def recover(self, known: Mapping[ContainerId, ContainerConfig], orphans: Set[ContainerId]) -> None:
        """What was made before is told by how it was asked for."""
        self._with_own_shm.update(found for found, config in known.items() if _has_own_shm(config))

    def wants_view(self, config: ContainerConfig) -> bool:
        """Unless it asks for the agent's."""
        return config.id.parent is not None or _linux(config).ipc_mode != _Linux.SHARE_PARENT

    async def prepare(self, config: ContainerConfig, shares: Shares) -> LaunchEdits:
        """Raises IsolationFailed."""
        linux = _linux(config)
        if linux.ipc_mode == _Linux.SHARE_PARENT:
            if linux.HasField("shm_size"):
                raise IsolationFailed("shm_size can be set only if the IPC mode is PRIVATE")
            if config.id.parent is None and not self._may_share_agents:
                raise IsolationFailed("Sharing agent IPC namespace with the top-level container is not allowed")
        is_private = linux.ipc_mode == _Linux.PRIVATE or (not linux.ipc_mode and config.id.parent is None)
        namespace = frozenset({Namespace.IPC})
        mount = self._shm(config)
        view = View(
            namespaces=namespace if is_private else frozenset(),
            shared=namespace if not is_private and config.id.parent is not None else frozenset(),
            mounts=() if mount is None else (mount,),
        )
        return LaunchEdits() if view == View() else LaunchEdits(view=view)

    async def cleanup(self, container_id: ContainerId) -> None:
        """Its /dev/shm went with its last process."""
        self._with_own_shm.discard(container_id)

    def _shm(self, config: ContainerConfig) -> Mount | None:
        if _has_own_shm(config):
            self._with_own_shm.add(config.id)
            linux = _linux(config)
            size = linux.shm_size << 20 if linux.HasField("shm_size") else self._default_shm_size
            return shm_of_size(size)
        around = next((item for item in config.id.lineage() if item in self._with_own_shm), None)
        if around is not None and _linux(config).ipc_mode == _Linux.SHARE_PARENT:
            raise IsolationFailed(
                f"/dev/shm of the container {around} cannot be shared with those nested in it: ask for IPC mode PRIVATE"
            )
        return None if config.root is None else Mount(source="/dev/shm", target="/dev/shm")


def shm_of_size(size: int | None) -> Mount:
    """A /dev/shm of this many bytes."""
    if size is None:
        return DEFAULT_SHM
    return Mount(source="shm", target="/dev/shm", type="tmpfs", options=(*SHM_OPTIONS, f"size={size}"))


def _has_own_shm(config: ContainerConfig) -> bool:
    linux = _linux(config)
    if linux.ipc_mode:
        return linux.ipc_mode == _Linux.PRIVATE
    has_image = config.container is not None and config.container.mesos.HasField("image")
    return has_image or linux.HasField("shm_size")


def _linux(config: ContainerConfig) -> mesos_pb2.LinuxInfo:
    return config.container.linux_info if config.container is not None else _NONE
