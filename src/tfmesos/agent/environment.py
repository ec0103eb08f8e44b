"""The environment of a command task (Mesos 1.11); later entries win.

The agent's own environment is never passed on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tfmesos.agent.flags import AgentFlags
from tfmesos.flags import format_duration
from tfmesos.wire import mesos_pb2

_FIXED = {"LIBPROCESS_PORT": "0", "MESOS_HTTP_COMMAND_EXECUTOR": "0"}
# What Mesos' own agent tells executors of a checkpointing framework by default.
_CHECKPOINTED = {"MESOS_RECOVERY_TIMEOUT": "15mins", "MESOS_SUBSCRIPTION_BACKOFF_MAX": "2secs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPlace:
    """Where a task runs."""

    agent_id: str
    agent_pid: str
    executor_id: str
    directory: str


def common_environment(flags: AgentFlags) -> Mapping[str, str]:
    """What every task of an agent gets, before what is its own."""
    return {
        **({"LIBPROCESS_IP": flags.ip} if flags.ip else {}),
        **(flags.executor_environment_variables or {}),
        **_FIXED,
        "MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD": format_duration(flags.executor_shutdown_grace_period),
    }


def task_environment(
    common: Mapping[str, str], task: mesos_pb2.TaskInfo, framework: mesos_pb2.FrameworkInfo, place: TaskPlace
) -> Mapping[str, str]:
    """The variables of a command task, beneath those of its command."""
    return {
        **common,
        "MESOS_FRAMEWORK_ID": framework.id.value,
        "MESOS_EXECUTOR_ID": place.executor_id,
        "MESOS_DIRECTORY": place.directory,
        "MESOS_SLAVE_ID": place.agent_id,
        "MESOS_SLAVE_PID": place.agent_pid,
        "MESOS_AGENT_ENDPOINT": place.agent_pid.partition("@")[2],
        "MESOS_CHECKPOINT": "1" if framework.checkpoint else "0",
        **(_CHECKPOINTED if framework.checkpoint else {}),
        "MESOS_ALLOCATION_ROLE": _allocation_role(task),
    }


def _allocation_role(task: mesos_pb2.TaskInfo) -> str:
    return next((item.allocation_info.role for item in task.resources if item.HasField("allocation_info")), "*")
