"""Texts that frameworks see (Mesos 1.11)."""

from __future__ import annotations

from tfmesos.wire import mesos_pb2, text

_LONGEST_SHOWN = 15
_SHOWN = 12


def ending_text(info: mesos_pb2.TaskInfo, wait_status: int | None) -> str:
    """The message of a command task's terminal update."""
    subject = "Container" if is_docker(info) else "Command"
    if wait_status is None:
        return f"Failed to get exit status for {subject}"
    return text.ending_text(wait_status, subject)


def is_docker(info: mesos_pb2.TaskInfo) -> bool:
    """Whether the task wants a container of the Docker engine."""
    return info.HasField("container") and info.container.type == mesos_pb2.ContainerInfo.DOCKER


def command_executor_name(info: mesos_pb2.TaskInfo) -> str:
    """`Command Executor (Task: <id>) (Command: sh -c '<value>')`, long values cut to 12 characters."""
    command = info.command
    shown = (
        f"sh -c '{_cut(command.value)}'"
        if command.shell
        else f"[{_cut(', '.join([command.value, *command.arguments]))}]"
    )
    return f"Command Executor (Task: {info.task_id.value}) (Command: {shown})"


def _cut(value: str) -> str:
    return value if len(value) <= _LONGEST_SHOWN else f"{value[:_SHOWN]}..."
