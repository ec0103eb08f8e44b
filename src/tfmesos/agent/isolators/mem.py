"""cgroups/mem: memory up to a limit, and an end that says so (Mesos 1.11: cgroups/subsystems/memory.cpp)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfmesos.agent.isolators.container_cgroups import ContainerCgroups
from tfmesos.agent.isolators.errors import IsolationFailed
from tfmesos.agent.isolators.isolator import LaunchEdits, Limitation, QuietIsolator, Shares, total_of
from tfmesos.cgroups import MemoryControl, MemoryUsage
from tfmesos.flags import format_bytes
from tfmesos.wire import mesos_pb2

if TYPE_CHECKING:
    from tfmesos.agent.containerizer.config import ContainerConfig
    from tfmesos.agent.containerizer.identifiers import ContainerId

_MIB = 1024 * 1024
_LEAST = 32 * _MIB


class MemIsolator(QuietIsolator):
    """A container that needs more than the limit is ended.

    The soft limit follows what is asked for. The hard one is only ever raised: a container that has shrunk may still
    use what it had, until others need it.
    """

    name = "cgroups/mem"
    has_limits = True

    def __init__(self, cgroups: ContainerCgroups, *, with_swap: bool) -> None:
        self._cgroups = cgroups
        self._with_swap = with_swap

    async def prepare(self, config: ContainerConfig, shares: Shares) -> LaunchEdits:
        """Set the limits."""
        return await self.update(config.id, shares)

    async def update(self, container_id: ContainerId, shares: Shares) -> LaunchEdits:
        """Set them anew."""
        memory = self._memory(container_id)
        if memory is None:
            return LaunchEdits()
        size = total_of(shares, "mem") * _MIB // 1000
        if not size:
            raise IsolationFailed("No memory resource given")
        size = max(size, _LEAST)
        memory.set_soft_limit(size)
        before = memory.limit()
        if before is None or size > before:
            memory.set_limit(size, with_swap=self._with_swap)
        return LaunchEdits()

    async def wait_limitation(self, container_id: ContainerId) -> Limitation | None:
        """Until there is no memory left below the limit."""
        memory = self._memory(container_id)
        return None if memory is None or not await memory.wait_oom() else _limitation(memory)

    def passed(self, container_id: ContainerId) -> Limitation | None:
        """Whether processes were killed for want of memory, its own or those it shares the memory with: all end."""
        cgroup = self._cgroups.counted(container_id, "memory")
        return None if cgroup is None or not cgroup.memory.has_run_out() else _limitation(cgroup.memory)

    def fill_usage(self, container_id: ContainerId, usage: mesos_pb2.ResourceStatistics) -> None:
        """What is used, page cache included, and the limit."""
        memory = self._memory(container_id)
        if memory is None:
            return
        limit, used = memory.limit(), memory.usage()
        if limit is not None:
            usage.mem_limit_bytes = limit
        usage.mem_total_bytes = used.total
        for name, value in (
            ("mem_rss_bytes", used.anonymous),
            ("mem_anon_bytes", used.anonymous),
            ("mem_file_bytes", used.file),
            ("mem_cache_bytes", used.file),
            ("mem_mapped_file_bytes", used.mapped),
            ("mem_swap_bytes", used.swap),
            ("mem_unevictable_bytes", used.unevictable),
        ):
            if value is not None:
                setattr(usage, name, value)

    def _memory(self, container_id: ContainerId) -> MemoryControl | None:
        cgroup = self._cgroups.limited(container_id, "memory")
        return None if cgroup is None else cgroup.memory


def _limitation(memory: MemoryControl) -> Limitation:
    """Mesos 1.11's text, and what was used at most."""
    used = memory.usage()
    most = used.total if used.maximum is None else used.maximum
    limit = memory.limit()
    message = (
        f"Memory limit exceeded: Requested: {'unlimited' if limit is None else format_bytes(limit)} "
        f"Maximum Used: {format_bytes(most)}\n\nMEMORY STATISTICS: \n{_statistics(used)}\n"
    )
    resource = mesos_pb2.Resource(name="mem", type=mesos_pb2.Value.SCALAR)
    resource.scalar.value = round(most / _MIB, 3)
    return Limitation(
        reason=mesos_pb2.TaskStatus.REASON_CONTAINER_LIMITATION_MEMORY, message=message, resources=(resource,)
    )


def _statistics(used: MemoryUsage) -> str:
    rows = (
        ("cache", used.file),
        ("rss", used.anonymous),
        ("mapped_file", used.mapped),
        ("swap", used.swap),
        ("unevictable", used.unevictable),
    )
    return "".join(f"{name} {value}\n" for name, value in rows if value is not None)
