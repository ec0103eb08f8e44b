"""Events of the executor API (Mesos 1.11), and what the core is told of a container's end."""

from __future__ import annotations

from dataclasses import dataclass

from tfmesos.agent.core.records import Cause, Launch, TaskRecord
from tfmesos.wire import executor_pb2

Event = executor_pb2.Event
NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a container ended: the wait status of its program (None: unknown) and what else is to say."""

    wait_status: int | None
    message: str | None = None
    cause: Cause | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What a runtime says of a container that runs: frameworks are told by TASK_RUNNING."""

    data: bytes = b""
    ip_address: str | None = None


NOTHING_SAID = Running()


def launch_event(launch: Launch) -> executor_pb2.Event:
    """The tasks as the master handed them over."""
    if not launch.is_group:
        event = Event(type=Event.LAUNCH)
        event.launch.task.CopyFrom(launch.tasks[0].info)
        return event
    event = Event(type=Event.LAUNCH_GROUP)
    event.launch_group.task_group.tasks.extend(record.info for record in launch.tasks)
    return event


def kill_event(record: TaskRecord) -> executor_pb2.Event:
    """With a kill policy only if the kill had one."""
    event = Event(type=Event.KILL)
    event.kill.task_id.value = record.key.task_id
    if record.kill_grace_s is not None:
        event.kill.kill_policy.grace_period.nanoseconds = int(record.kill_grace_s * NANOSECONDS)
    return event


def acknowledged_event(task_id: str, uuid: bytes) -> executor_pb2.Event:
    """The agent answers for the update now."""
    event = Event(type=Event.ACKNOWLEDGED)
    event.acknowledged.task_id.value = task_id
    event.acknowledged.uuid = uuid
    return event


def message_event(data: bytes) -> executor_pb2.Event:
    """What the framework says."""
    event = Event(type=Event.MESSAGE)
    event.message.data = data
    return event
