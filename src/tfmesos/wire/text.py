"""Names of the numbers in a TaskStatus, and which states are final."""

from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

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
    return _name(TaskState, state)


def reason_name(reason: int) -> str:
    """`REASON_TASK_INVALID`."""
    return _name(TaskStatus.Reason, reason)


def source_name(source: int) -> str:
    """`SOURCE_MASTER`."""
    return _name(TaskStatus.Source, source)


def _name(enum: EnumTypeWrapper, number: int) -> str:
    descriptor = enum.DESCRIPTOR.values_by_number.get(number)
    return descriptor.name if descriptor is not None else str(number)
