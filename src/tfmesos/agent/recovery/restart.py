"""What a starting agent makes of what the one before has kept."""

from __future__ import annotations

import logging
from pathlib import Path

from tfmesos.agent.checkpoint import CheckpointStore, Recovered
from tfmesos.agent.containerizer import ContainerId, Containerizer
from tfmesos.agent.errors import AgentChanged, BadAgentFlags
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.recovery.reconfiguration import Policy, difference
from tfmesos.agent.runner.runner import Runner
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


def check_runtime_dir(before: Recovered, runtime_dir: Path, *, boot_id: str) -> None:
    """Raises BadAgentFlags if what the agent before may have left running would not be found, and so be given up."""
    has_run = any(framework.executors for framework in before.frameworks.values())
    if not has_run or before.boot_id != boot_id or before.runtime_dir in ("", str(runtime_dir)):
        return
    raise BadAgentFlags(
        f"--runtime_dir: the tasks of the agent before are in {before.runtime_dir}, not in {runtime_dir}; "
        f"start with --runtime_dir={before.runtime_dir}"
    )


async def go_on(agent_id: str | None, before: Recovered, containerizer: Containerizer, runner: Runner) -> None:
    """Take over the containers of the agent before, and wait until its executors are back or were given up.

    What belongs to none of them is ended; for a new agent (without an id yet) that is all there is.
    """
    known = [
        ContainerId(container_id) for framework in before.frameworks.values() for container_id in framework.executors
    ]
    containers = await containerizer.recover(known)
    if agent_id is None:
        return
    if before.frameworks:
        still_there = sum(container_id in containers for container_id in known)
        _log.info("going on as %s with %d of %d executors and tasks", agent_id, still_there, len(known))
    runner.restore(agent_id, before, {str(container_id): found for container_id, found in containers.items()})
    await runner.wait_executors_back()


async def end_remains(containerizer: Containerizer, store: CheckpointStore, *, boot_id: str) -> None:
    """End all that the agent before has left, and forget it (Mesos 1.11: --recover=cleanup). Raises BadAgentFlags.

    The containerizer is closed in the end.
    """
    try:
        check_runtime_dir(store.recovered(), containerizer.runtime_dir, boot_id=boot_id)
        await containerizer.start()
        await containerizer.recover(())
    finally:
        await containerizer.close(end_detached=True)
    if store.clear():
        _log.info("nothing of the agent before is left: the next one is a new one")
