"""cgroups/cpu: processors by weight, and by --cgroups_enable_cfs by quota (Mesos 1.11: cgroups/subsystems/cpu.cpp)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfmesos.agent.isolators.container_cgroups import ContainerCgroups
from tfmesos.agent.isolators.isolator import LaunchEdits, QuietIsolator, Shares, total_of
from tfmesos.wire import mesos_pb2

if TYPE_CHECKING:
    from tfmesos.agent.containerizer.config import ContainerConfig
    from tfmesos.agent.containerizer.identifiers import ContainerId

_SHARES_PER_CPU = 1024
_MIN_SHARES = 2


class CpuIsolator(QuietIsolator):
    """A container gets processors in proportion to what it asked for; no more than that only with a quota."""

    name = "cgroups/cpu"

    def __init__(self, cgroups: ContainerCgroups, *, has_quota: bool) -> None:
        self._cgroups = cgroups
        self._has_quota = has_quota

    async def prepare(self, config: ContainerConfig, shares: Shares) -> LaunchEdits:
        """Set what the container asks for."""
        return await self.update(config.id, shares)

    async def update(self, container_id: ContainerId, shares: Shares) -> LaunchEdits:
        """Set it anew."""
        cgroup = self._cgroups.limited(container_id, "cpu")
        if cgroup is not None:
            thousandths = total_of(shares, "cpus")
            cgroup.cpu.set_shares(max(_SHARES_PER_CPU * thousandths // 1000, _MIN_SHARES))
            if self._has_quota:
                cgroup.cpu.set_quota(thousandths / 1000)
        return LaunchEdits()

    def fill_usage(self, container_id: ContainerId, usage: mesos_pb2.ResourceStatistics) -> None:
        """Time used, also by processes that are gone; how often the quota held it up."""
        cgroup = self._cgroups.limited(container_id, "cpu")
        if cgroup is None:
            return
        used = cgroup.cpu.usage()
        if used.user_s is not None and used.system_s is not None:
            usage.cpus_user_time_secs, usage.cpus_system_time_secs = used.user_s, used.system_s
        if self._has_quota:
            usage.cpus_limit = usage.cpus_soft_limit
            usage.cpus_nr_periods = used.periods or 0
            usage.cpus_nr_throttled = used.throttled or 0
            usage.cpus_throttled_time_secs = used.throttled_s or 0.0
