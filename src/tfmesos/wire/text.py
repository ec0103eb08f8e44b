"""Names of the numbers in a TaskStatus, and which states are final."""

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
