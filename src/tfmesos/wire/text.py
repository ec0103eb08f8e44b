"""Names of the numbers in a TaskStatus, which states are final, and how Mesos tells a command's end."""

import os
import signal

from google.protobuf.descriptor import EnumDescriptor

from tfmesos.wire.mesos_pb2 import (
    TASK_DROPPED,
    TASK_ERROR,
    TASK_FAILED,
    TASK_FINISHED,
    TASK_GONE,
    TASK_GONE_BY_OPERATOR,
    TASK_KILLED,
    TASK_LOST,
    TaskState,
    TaskStatus,
)

TERMINAL_STATES: frozenset[int] = frozenset(
    {
        TASK_FINISHED,
        TASK_FAILED,
        TASK_KILLED,
        TASK_ERROR,
        TASK_LOST,
        TASK_DROPPED,
        TASK_GONE,
        TASK_GONE_BY_OPERATOR,
    }
)


def state_name(state: int) -> str:
    """`TASK_RUNNING`; the number itself if it is none of ours."""
    return _name(TaskState.DESCRIPTOR, state)


def reason_name(reason: int) -> str:
    """`REASON_TASK_INVALID`."""
    return _name(TaskStatus.Reason.DESCRIPTOR, reason)


def source_name(source: int) -> str:
    """`SOURCE_MASTER`."""
    return _name(TaskStatus.Source.DESCRIPTOR, source)


def _name(enum: EnumDescriptor, number: int) -> str:
    value = enum.values_by_number.get(number)
    return str(value.name) if value is not None else str(number)


def ending_text(wait_status: int, subject: str = "Command") -> str:
    """`Command exited with status 1`, `Command terminated with signal Terminated` (Mesos 1.11, recorded)."""
    if os.WIFEXITED(wait_status):
        return f"{subject} exited with status {os.WEXITSTATUS(wait_status)}"
    number = os.WTERMSIG(wait_status)
    core = " (core dumped)" if os.WCOREDUMP(wait_status) else ""
    return f"{subject} terminated with signal {signal.strsignal(number) or f'Unknown signal {number}'}{core}"
