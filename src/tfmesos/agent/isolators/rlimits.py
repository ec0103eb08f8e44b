"""posix/rlimits: limits of resources of a container's processes (Mesos 1.11: posix/rlimits.cpp)."""

from __future__ import annotations

import logging
import resource
from collections.abc import Callable
from typing import TYPE_CHECKING

from tfmesos.agent.isolators.errors import IsolationFailed
from tfmesos.agent.isolators.isolator import LaunchEdits, Shares, ViewIsolator
from tfmesos.agent.isolators.view import Rlimit, View
from tfmesos.wire import mesos_pb2

if TYPE_CHECKING:
    from tfmesos.agent.containerizer.config import ContainerConfig

UNLIMITED = 2**64 - 1
_LIMIT = mesos_pb2.RLimitInfo.RLimit
_LOCKS = 10  # kernel: asm-generic/resource.h; Python has no name for it
_log = logging.getLogger(__name__)


class RlimitsIsolator(ViewIsolator):
    """What `rlimit_info` says, but for what exceeds a hard limit of the agent that it may not raise."""

    name = "posix/rlimits"

    def __init__(self, most_of: Callable[[str], int]) -> None:
        """`most_of`: up to what a limit, such as RLIMIT_NOFILE, can be set."""
        self._most_of = most_of

    def wants_view(self, config: ContainerConfig) -> bool:
        """If limits are named."""
        return config.container is not None and config.container.HasField("rlimit_info")

    async def prepare(self, config: ContainerConfig, shares: Shares) -> LaunchEdits:
        """Raises IsolationFailed for a limit that says no type, or one bound only, or is given twice."""
        if config.container is None or not self.wants_view(config):
            return LaunchEdits()
        limits = tuple(self._within(config, limit) for limit in _limits_of(config.container.rlimit_info))
        return LaunchEdits(view=View(rlimits=limits))

    def _within(self, config: ContainerConfig, limit: Rlimit) -> Rlimit:
        most = self._most_of(limit.type)
        if limit.hard > most:
            _log.warning("container %s has %s %s at most, which this agent may not raise", config.id, limit.type, most)
        return Rlimit(type=limit.type, hard=min(limit.hard, most), soft=min(limit.soft, most))


def own_most(name: str) -> int:
    """Up to what this process may set a limit; it is taken not to have CAP_SYS_RESOURCE."""
    number = _LOCKS if name == "RLIMIT_LOCKS" else getattr(resource, name)
    hard = resource.getrlimit(number)[1]
    return UNLIMITED if hard == resource.RLIM_INFINITY else hard


def no_most(name: str) -> int:
    """For who has CAP_SYS_RESOURCE."""
    return UNLIMITED


def _limits_of(info: mesos_pb2.RLimitInfo) -> list[Rlimit]:
    limits = [_limit(given) for given in info.rlimits]
    types = [limit.type for limit in limits]
    for name in types:
        if types.count(name) > 1:
            raise IsolationFailed(f"Invalid rlimit_info: {name} is given more than once")
    return limits


def _limit(given: mesos_pb2.RLimitInfo.RLimit) -> Rlimit:
    if given.type == _LIMIT.UNKNOWN:
        raise IsolationFailed("Invalid rlimit_info: a limit has no type that this agent knows")
    name = _LIMIT.Type.Name(given.type).replace("RLMT_", "RLIMIT_")
    if given.HasField("hard") != given.HasField("soft"):
        raise IsolationFailed(f"Invalid rlimit_info: {name} has one of soft and hard only; both or neither are wanted")
    if not given.HasField("hard"):
        return Rlimit(type=name, hard=UNLIMITED, soft=UNLIMITED)
    if given.soft > given.hard:
        raise IsolationFailed(f"Invalid rlimit_info: {name} has a soft limit {given.soft} above its hard {given.hard}")
    return Rlimit(type=name, hard=given.hard, soft=given.soft)
