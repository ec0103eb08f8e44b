"""How a container's end becomes its task's last status (Mesos 1.11; recorded: default-executor)."""

from tfmesos.executors.default.member import Cause, Member
from tfmesos.wire import agent_pb2, mesos_pb2
from tfmesos.wire.text import ending_text

_UNKNOWN = "Unable to retrieve command's termination information"


def last_status(member: Member, result: agent_pb2.Response.WaitContainer | None) -> mesos_pb2.TaskStatus:
    """The status that tells the end; `result` None: the agent knows nothing of the container."""
    if result is None or not (result.HasField("exit_status") or result.HasField("message")):
        return _complete(member, member.build_status(_state(member, None), _UNKNOWN))
    texts = [ending_text(result.exit_status)] if result.HasField("exit_status") else []
    texts += [result.message] if result.HasField("message") else []
    wait_status = result.exit_status if result.HasField("exit_status") else None
    status = member.build_status(_state(member, wait_status), ": ".join(texts))
    if result.HasField("state"):
        status.state = result.state
    if result.HasField("reason"):
        status.reason = result.reason
    if result.HasField("limitation"):
        status.limitation.CopyFrom(result.limitation)
    return _complete(member, status)


def refused_status(member: Member, text: str) -> mesos_pb2.TaskStatus:
    """The status of a task whose container the agent would not start."""
    return _complete(member, member.build_status(_state(member, None), text))


def _complete(member: Member, status: mesos_pb2.TaskStatus) -> mesos_pb2.TaskStatus:
    if member.cause is Cause.UNHEALTHY:
        status.healthy = False
    if member.cause is Cause.OUT_OF_TIME:
        status.reason = mesos_pb2.TaskStatus.REASON_MAX_COMPLETION_TIME_REACHED
    return status


def _state(member: Member, wait_status: int | None) -> mesos_pb2.TaskState.ValueType:
    """A killed task is TASK_KILLED whatever its exit status."""
    if member.cause is Cause.OUT_OF_TIME:
        return mesos_pb2.TASK_FAILED
    if member.cause is not None:
        return mesos_pb2.TASK_KILLED
    return mesos_pb2.TASK_FINISHED if wait_status == 0 else mesos_pb2.TASK_FAILED
