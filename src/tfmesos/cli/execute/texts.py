"""What `mesos-execute` prints; the layout of statuses is that of Mesos 1.11."""

from collections.abc import Sequence

from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2
from tfmesos.wire.text import reason_name, source_name, state_name

__all__ = ["describe_misfit", "describe_status"]


def describe_status(status: mesos_pb2.TaskStatus) -> str:
    """A status, one line for each thing it tells."""
    lines = [f"Received status update {state_name(status.state)} for task '{status.task_id.value}'"]
    if status.HasField("message"):
        lines.append(f"  message: '{status.message}'")
    if status.HasField("source"):
        lines.append(f"  source: {source_name(status.source)}")
    if status.HasField("reason"):
        lines.append(f"  reason: {reason_name(status.reason)}")
    if status.HasField("healthy"):
        lines.append(f"  healthy?: {int(status.healthy)}")
    if status.HasField("check_status"):
        lines.append(f"  check status: {_on_one_line(status.check_status)}")
    if status.HasField("limitation") and status.limitation.resources:
        lines.append(f"  resource limit violation: {Resources.from_proto(status.limitation.resources)}")
    return "\n".join(lines)


def describe_misfit(wanted: Sequence[Resources], role: str, offer: mesos_pb2.Offer) -> str:
    """Why an offer does not do, with numbers."""
    total = Resources()
    for part in wanted:
        total = total + part
    offered = Resources.from_proto(offer.resources).unallocated()
    usable = offered.allocatable_to(role).nonrevocable()
    lacks = ", ".join(_lack(name, total, usable) for name in sorted(total.names()) if _lack(name, total, usable))
    agent = f"agent '{offer.agent_id.value}' ({offer.hostname})"
    return f"The offer of {agent} does not fit: it lacks {lacks or f'what role {role!r} may use'}. Still waiting."


def _lack(name: str, total: Resources, usable: Resources) -> str:
    needed, offered = total.scalar(name), usable.scalar(name)
    if needed > offered:
        return f"{name} ({_number(needed)} needed, {_number(offered)} offered)"
    missing = total.ranges(name) - usable.ranges(name)
    if missing:
        return f"{name} {missing}"
    if not needed and not total.ranges(name) and name not in usable.names():
        return name
    return ""


def _number(thousandths: int) -> str:
    return f"{thousandths / 1000:g}"


def _on_one_line(message: mesos_pb2.CheckStatusInfo) -> str:
    from google.protobuf.text_format import MessageToString

    return MessageToString(message, as_one_line=True)
