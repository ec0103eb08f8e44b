"""What a call of an executor must have (Mesos 1.11: src/slave/validation.cpp)."""

from __future__ import annotations

from tfmesos.wire import executor_pb2, mesos_pb2

_Call = executor_pb2.Call
_UUID_BYTES = 16
_PARTS = {_Call.SUBSCRIBE: "subscribe", _Call.UPDATE: "update", _Call.MESSAGE: "message"}
_SHAPES = ("command", "http", "tcp")


def call_fault(call: executor_pb2.Call) -> str | None:
    """Why a call is invalid; None if it is not."""
    if not call.HasField("type"):
        return "Expecting 'type' to be present"
    part = _PARTS.get(call.type)
    if part is not None and not call.HasField(part):  # type: ignore[arg-type]
        return f"Expecting '{part}' to be present"
    if call.type == _Call.UPDATE:
        return _status_fault(call, call.update.status)
    if call.type == _Call.SUBSCRIBE:
        updates = call.subscribe.unacknowledged_updates
        return next((fault for update in updates if (fault := _status_fault(call, update.status))), None)
    return None


def _status_fault(call: executor_pb2.Call, status: mesos_pb2.TaskStatus) -> str | None:
    executor_id = call.executor_id.value
    who = f"executor {executor_id} of framework {call.framework_id.value}"
    if not status.HasField("uuid"):
        return "Expecting 'uuid' to be present"
    if len(status.uuid) != _UUID_BYTES:
        return "Not a valid UUID"
    if status.HasField("executor_id") and status.executor_id.value != executor_id:
        return f"ExecutorID in Call: {executor_id} does not match ExecutorID in TaskStatus: {status.executor_id.value}"
    if status.source != mesos_pb2.TaskStatus.SOURCE_EXECUTOR:
        return f"Received Call from {who} with invalid source, expecting 'SOURCE_EXECUTOR'"
    if status.state == mesos_pb2.TASK_STAGING:
        return f"Received TASK_STAGING from {who} which is not allowed"
    return _check_fault(status) if status.HasField("check_status") else None


def _check_fault(status: mesos_pb2.TaskStatus) -> str | None:
    """A check status has a type and nothing of another type."""
    found = status.check_status
    if not found.HasField("type"):
        return "CheckStatusInfo must specify 'type'"
    wanted = mesos_pb2.CheckInfo.Type.Name(found.type).lower()
    if wanted not in _SHAPES:
        return f"'{wanted.upper()}' is not a valid check's status type"
    wrong = next((shape for shape in _SHAPES if found.HasField(shape) != (shape == wanted)), None)  # type: ignore[arg-type]
    if wrong is None:
        return None
    return f"{wanted.upper()} check's status must {'' if wrong == wanted else 'not '}contain '{wrong}'"
