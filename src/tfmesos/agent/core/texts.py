"""Texts that frameworks see (Mesos 1.11)."""

from __future__ import annotations

import os
import signal

from tfmesos.wire import mesos_pb2

LONGEST_SHOWN = 15
SHOWN = 12


def ending_text(wait_status: int | None) -> str:
    """The message of a command task's terminal update."""
    if wait_status is None:
        return "Failed to get exit status for Command"
    if os.WIFEXITED(wait_status):
        return f"Command exited with status {os.WEXITSTATUS(wait_status)}"
    number = os.WTERMSIG(wait_status)
    core = " (core dumped)" if os.WCOREDUMP(wait_status) else ""
    return f"Command terminated with signal {signal.strsignal(number) or f'Unknown signal {number}'}{core}"


def command_executor_name(info: mesos_pb2.TaskInfo) -> str:
    """`Command Executor (Task: <id>) (Command: sh -c '<value>')`, long values cut to 12 characters."""
    command = info.command
    text = (
        f"sh -c '{_cut(command.value)}'"
        if command.shell
        else f"[{_cut(', '.join([command.value, *command.arguments]))}]"
    )
    return f"Command Executor (Task: {info.task_id.value}) (Command: {text})"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else f"{text[:SHOWN]}..."
