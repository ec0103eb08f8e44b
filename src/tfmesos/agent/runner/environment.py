"""The environment of what the agent runs (Mesos 1.11); later entries win.

The agent's own environment is never passed on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tfmesos.agent.flags import AgentFlags
from tfmesos.flags import format_duration
from tfmesos.wire import mesos_pb2

_FIXED = {"LIBPROCESS_PORT": "0", "MESOS_HTTP_COMMAND_EXECUTOR": "0"}
_GRACE = "MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD"
_BACKOFF_MAX = "2secs"  # Mesos 1.11: the default of its executor_reregistration_timeout


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorPlace:
    """Where an executor runs."""

    agent_id: str
    agent_pid: str
    executor_id: str
    directory: str
    shutdown_grace_s: float | None = None  # the executor's own; None: the agent's


class Environments:
    """Makes the variables of executors and command tasks, beneath those of their commands."""

    def __init__(self, flags: AgentFlags, domain_socket: str | None) -> None:
        """`domain_socket`: where the agent listens, if that is no TCP address."""
        self._common = {
            **({"LIBPROCESS_IP": flags.ip} if flags.ip else {}),
            **(flags.executor_environment_variables or {}),
            **_FIXED,
            _GRACE: format_duration(flags.executor_shutdown_grace_period),
            **({"MESOS_DOMAIN_SOCKET": domain_socket} if domain_socket else {}),
        }
        self._checkpointed = {
            "MESOS_RECOVERY_TIMEOUT": format_duration(flags.recovery_timeout),
            "MESOS_SUBSCRIPTION_BACKOFF_MAX": _BACKOFF_MAX,
        }

    def of_executor(self, framework: mesos_pb2.FrameworkInfo, place: ExecutorPlace) -> dict[str, str]:
        """What a program that subscribes as an executor gets."""
        grace_s = place.shutdown_grace_s
        return {
            **self._common,
            "MESOS_FRAMEWORK_ID": framework.id.value,
            "MESOS_EXECUTOR_ID": place.executor_id,
            "MESOS_DIRECTORY": place.directory,
            "MESOS_SLAVE_ID": place.agent_id,
            "MESOS_SLAVE_PID": place.agent_pid,
            "MESOS_AGENT_ENDPOINT": place.agent_pid.partition("@")[2],
            "MESOS_CHECKPOINT": "1" if framework.checkpoint else "0",
            **(self._checkpointed if framework.checkpoint else {}),
            **({} if grace_s is None else {_GRACE: format_duration(grace_s)}),
        }

    def of_task(
        self, task: mesos_pb2.TaskInfo, framework: mesos_pb2.FrameworkInfo, place: ExecutorPlace
    ) -> Mapping[str, str]:
        """What a command task gets: its executor's, and its role."""
        return {**self.of_executor(framework, place), "MESOS_ALLOCATION_ROLE": _allocation_role(task)}


def _allocation_role(task: mesos_pb2.TaskInfo) -> str:
    return next((item.allocation_info.role for item in task.resources if item.HasField("allocation_info")), "*")
