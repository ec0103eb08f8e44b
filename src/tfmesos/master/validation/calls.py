"""The shape of a scheduler's call."""

from tfmesos.wire import scheduler_pb2

_WITHOUT_BODY = frozenset({"TEARDOWN", "REVIVE", "SUPPRESS", "UNKNOWN"})
_UUID_BYTES = 16


def call_error(call: scheduler_pb2.Call) -> str | None:
    """Why the call makes no sense whatever the state is; None if it does."""
    if not call.HasField("type"):
        return "Expecting 'type' to be present"
    name = scheduler_pb2.Call.Type.Name(call.type)
    if name == "SUBSCRIBE":
        return _subscribe_error(call)
    if not call.HasField("framework_id"):
        return "Expecting 'framework_id' to be present"
    if name not in _WITHOUT_BODY and not call.HasField(name.lower()):  # type: ignore[arg-type]
        return f"Expecting '{name.lower()}' to be present"
    match name:
        case "ACKNOWLEDGE":
            return _uuid_error(call.acknowledge.uuid)
        case "ACKNOWLEDGE_OPERATION_STATUS":
            return _operation_acknowledgement_error(call.acknowledge_operation_status)
        case "UPDATE_FRAMEWORK" if call.framework_id.value != call.update_framework.framework_info.id.value:
            return "'framework_id' differs from 'update_framework.framework_info.id'"
    return None


def _subscribe_error(call: scheduler_pb2.Call) -> str | None:
    if not call.HasField("subscribe"):
        return "Expecting 'subscribe' to be present"
    info = call.subscribe.framework_info
    both = (call.HasField("framework_id"), info.HasField("id"))
    if both[0] != both[1] or call.framework_id.value != info.id.value:
        return "'framework_id' differs from 'subscribe.framework_info.id'"
    return None


def _uuid_error(uuid: bytes) -> str | None:
    return None if len(uuid) == _UUID_BYTES else "Not a valid UUID"


def _operation_acknowledgement_error(acknowledgement: scheduler_pb2.Call.AcknowledgeOperationStatus) -> str | None:
    return _uuid_error(acknowledgement.uuid) or (
        None if acknowledgement.HasField("agent_id") else "Expecting 'agent_id' to be present"
    )
