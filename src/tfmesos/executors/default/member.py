"""One task of a group, with its container."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from tfmesos.checks import empty_status
from tfmesos.wire import agent_pb2, mesos_pb2

_DEFAULT_GRACE_S = 3.0
"""Mesos 1.11: between SIGTERM and SIGKILL where no kill policy says otherwise."""


class Cause(Enum):
    """Why a task is being killed."""

    ASKED = "asked"
    UNHEALTHY = "unhealthy"
    OUT_OF_TIME = "out of time"


@dataclass(slots=True)
class Member:
    """A task from its launch to its end."""

    task: mesos_pb2.TaskInfo
    container_id: mesos_pb2.ContainerID
    group: Sequence["Member"]
    is_running: bool = False
    cause: Cause | None = None
    """Why it is being killed, None while it is not."""
    signal: int = 0
    """The strongest that was asked for."""
    is_signalled: bool = False
    """Whether the agent has sent that signal."""
    deadline: float = 0.0
    """When SIGKILL is due, while it is being killed."""
    health: bool | None = None
    check: mesos_pb2.CheckStatusInfo | None = None

    @property
    def container(self) -> str:
        return self.container_id.value

    @property
    def grace_s(self) -> float:
        """As the task's kill policy says."""
        policy = self.task.kill_policy
        return policy.grace_period.nanoseconds / 1e9 if policy.HasField("grace_period") else _DEFAULT_GRACE_S

    def build_launch(self, ip: str) -> agent_pb2.Call.LaunchContainer:
        """The call that starts the container (recorded: default-executor)."""
        launch = agent_pb2.Call.LaunchContainer(container_id=self.container_id)
        launch.command.CopyFrom(self.task.command)
        variables = launch.command.environment.variables
        variables.add(name="MESOS_CONTAINER_IP", value=ip)
        role = next((resource.allocation_info.role for resource in self.task.resources), "*")
        variables.add(name="MESOS_ALLOCATION_ROLE", value=role)
        launch.resources.extend(self.task.resources)
        if self.task.HasField("container"):
            launch.container.CopyFrom(self.task.container)
        for name, limit in self.task.limits.items():
            launch.limits[name].CopyFrom(limit)
        return launch

    def build_status(self, state: mesos_pb2.TaskState.ValueType, message: str | None = None) -> mesos_pb2.TaskStatus:
        """A status of the task. Mesos 1.11: for a task with a check it has an (empty) check status."""
        status = mesos_pb2.TaskStatus(task_id=self.task.task_id, state=state, message=message)
        status.container_status.container_id.CopyFrom(self.container_id)
        if self.task.HasField("check"):
            status.check_status.CopyFrom(empty_status(self.task.check))
        return status

    def build_news(self, reason: mesos_pb2.TaskStatus.Reason.ValueType) -> mesos_pb2.TaskStatus:
        """What the checks say of the running task."""
        status = self.build_status(mesos_pb2.TASK_RUNNING)
        status.reason = reason
        if self.health is not None:
            status.healthy = self.health
        if self.check is not None:
            status.check_status.CopyFrom(self.check)
        return status
