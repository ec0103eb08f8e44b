"""linux/capabilities: what of root's rights a container's programs have (Mesos 1.11: linux/capabilities.cpp)."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tfmesos.agent.isolators.errors import IsolationFailed
from tfmesos.agent.isolators.isolator import LaunchEdits, Shares, ViewIsolator
from tfmesos.agent.isolators.view import Capabilities, View
from tfmesos.flags import FlagError
from tfmesos.wire import mesos_pb2

if TYPE_CHECKING:
    from tfmesos.agent.containerizer.config import ContainerConfig

_Capability = mesos_pb2.CapabilityInfo.Capability
_log = logging.getLogger(__name__)


class CapabilitiesIsolator(ViewIsolator):
    """A container has what its task wants, or else what the agent's flags say, and never more than the agent."""

    name = "linux/capabilities"

    def __init__(self, effective: frozenset[str] | None, bounding: frozenset[str] | None, own: frozenset[str]) -> None:
        """`effective`, `bounding`: of the flags; `own`: what the agent itself can have and give."""
        self._effective = effective
        self._bounding = bounding
        self._own = own

    def wants_view(self, config: ContainerConfig) -> bool:
        """If it, or the flags, name some."""
        asked = _asked(config.container.linux_info) if config.container is not None else ()
        return any(names is not None for names in (self._effective, self._bounding, *asked))

    async def prepare(self, config: ContainerConfig, shares: Shares) -> LaunchEdits:
        """Raises IsolationFailed for more than the bounding set."""
        effective, bounding = self._effective, self._bounding
        if config.container is not None and config.container.HasField("linux_info"):
            asked_effective, asked_bounding = _asked(config.container.linux_info)
            _check_within(asked_bounding, self._bounding, "--bounding_capabilities")
            effective = asked_effective if asked_effective is not None else effective
            bounding = asked_bounding if asked_bounding is not None else bounding
        given = [names for names in (effective, bounding) if names is not None]  # one alone says the other, too
        if not given:
            return LaunchEdits()
        _check_within(given[0], given[-1], "the bounding capabilities")
        return LaunchEdits(view=View(capabilities=self._own_part(config, given[0], given[-1])))

    def _own_part(self, config: ContainerConfig, effective: frozenset[str], bounding: frozenset[str]) -> Capabilities:
        missing = bounding - self._own
        if missing:
            _log.warning("container %s goes without %s, which this agent has not", config.id, _listed(missing))
        return Capabilities(effective=effective & self._own, bounding=bounding & self._own)


def parse_capabilities(text: str) -> frozenset[str]:
    """Of `{"capabilities":["NET_RAW"]}`, as names with CAP_ before. Raises FlagError."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise FlagError(f"not a JSON object: {error}") from error
    names = value.get("capabilities", []) if isinstance(value, dict) else None
    if not isinstance(names, list):
        raise FlagError('expecting a JSON object {"capabilities": [...]}')
    known = set(_Capability.keys()) - {"UNKNOWN"}
    for name in names:
        if name not in known:
            raise FlagError(f"{name!r} is no capability; they are named as NET_RAW")
    return frozenset(f"CAP_{name}" for name in names)


def _asked(info: mesos_pb2.LinuxInfo) -> tuple[frozenset[str] | None, frozenset[str] | None]:
    """Effective and bounding; `capability_info` is the old name of the effective ones."""
    effective = None
    if info.HasField("effective_capabilities"):
        effective = _names(info.effective_capabilities)
    elif info.HasField("capability_info"):
        effective = _names(info.capability_info)
    return effective, _names(info.bounding_capabilities) if info.HasField("bounding_capabilities") else None


def _names(info: mesos_pb2.CapabilityInfo) -> frozenset[str]:
    if _Capability.UNKNOWN in info.capabilities:
        raise IsolationFailed("Invalid capabilities: one is unknown to this agent")
    return frozenset(f"CAP_{_Capability.Name(number)}" for number in info.capabilities)


def _check_within(some: frozenset[str] | None, all_of: frozenset[str] | None, whose: str) -> None:
    excess = some - all_of if some is not None and all_of is not None else frozenset()
    if excess:
        raise IsolationFailed(f"Invalid capabilities: {_listed(excess)} not allowed by {whose}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
