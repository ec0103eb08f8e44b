"""What a starting agent makes of what the one before has kept."""

from __future__ import annotations

import logging

from tfmesos.agent.checkpoint import Recovered
from tfmesos.agent.errors import AgentChanged
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.reconfiguration import Policy, difference
from tfmesos.wire import mesos_pb2

_log = logging.getLogger(__name__)


def recovered_id(
    before: Recovered, now: mesos_pb2.AgentInfo, *, boot_id: str, flags: AgentFlags, path: str
) -> str | None:
    """The id under which this agent goes on; None: it is a new one.

    Raises AgentChanged if it differs too much and the machine was not started again since (Mesos 1.11: then tasks of
    the agent before may still run). `path`: the file that remembers it.
    """
    if before.agent is None:
        return None
    policy = Policy(flags.reconfiguration_policy)
    changed = difference(before.agent, now, policy, is_port_free=flags.port == 0)
    if changed is None:
        return before.agent.id.value
    if before.boot_id == boot_id:
        raise AgentChanged(before.agent.id.value, changed, policy.value, path)
    _log.warning("this machine was started again and %s: agent %s is gone", changed, before.agent.id.value)
    return None
