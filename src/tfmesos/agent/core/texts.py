"""Texts that frameworks see (Mesos 1.11)."""

from __future__ import annotations

from tfmesos.wire import mesos_pb2, text

_LONGEST_SHOWN = 15
_SHOWN = 12


def ending_text(wait_status: int | None) -> str:
    """The message of a command task's terminal update."""
    if wait_status is None:
        return "Failed to get exit status for Command"
    return text.ending_text(wait_status)


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
