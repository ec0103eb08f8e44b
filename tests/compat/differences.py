"""The one table of differences between our programs and Apache Mesos 1.11, as the replay of the recordings sees them.

docs/compat.md is printed from it (scripts/print_compat.py); the replay fails for a difference that is not here, and for
one here that is none any more.
"""

from dataclasses import dataclass, field

NOT_YET = "not yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Rows of recorded sessions that our program answers otherwise, events `beyond` the recorded ones, and why."""

    what: str
    ours: str
    reason: str
    rows: dict[str, tuple[int, ...]]
    beyond: dict[str, tuple[str, ...]] = field(default_factory=dict)


MASTER_SESSIONS = ("scheduler-json", "scheduler-protobuf", "scheduler-errors", "mesos-execute")
AGENT_SESSIONS = ("agent-registration", "agent-task")

DIFFERENCES = (
    Difference(
        what="RESERVE, CREATE, DESTROY and UNRESERVE in ACCEPT",
        ours="dropped; an operation with an id gets OPERATION_ERROR with a message, one without an id nothing; "
        "tasks on the resources they would have made are refused",
        reason=NOT_YET,
        rows={
            "scheduler-json": (121, 123, 127, 128, 133, 137, 139, 181, 187, 190, 193, 197),
            "scheduler-protobuf": (121, 123, 124, 130, 132, 135, 139, 181, 187, 190, 194, 198),
        },
        beyond={"scheduler-json": ("UPDATE t2 TASK_ERROR",), "scheduler-protobuf": ("UPDATE t2 TASK_ERROR",)},
    ),
    Difference(
        what="RECONCILE_OPERATIONS",
        ours="accepted, no events",
        reason=NOT_YET,
        rows={"scheduler-json": (184, 185), "scheduler-protobuf": (184, 185)},
    ),
    Difference(
        what="a LAUNCH_GROUP without tasks",
        ours="nothing is sent to the agent; no `executor_ids` in later offers",
        reason="Mesos keeps the executor of the empty group in its books for ever, a leak that we do not imitate",
        rows={"scheduler-errors": (561, 564, 571, 574, 577)},
    ),
    Difference(
        what="the event stream of the operator API (any path below /api/v1 that has no handler of its own)",
        ours="501",
        reason=NOT_YET,
        rows={"scheduler-errors": (117, 118, 119)},
    ),
    Difference(
        what="an HTTP/1.1 request without a Host header",
        ours="the connection is closed without an answer",
        reason="RFC 9112 demands the header; our HTTP server (aiohttp) treats its absence as bytes that are no HTTP",
        rows={"scheduler-errors": (127,)},
    ),
    Difference(
        what="agent registration: resource version and resource providers",
        ours="no `resource_version_uuid` in RegisterSlaveMessage, no UpdateSlaveMessage",
        reason=f"{NOT_YET}: only operations on resources need it, and an agent without the capability "
        "RESOURCE_PROVIDER is a legal one",
        rows={"agent-registration": (1, 7), "agent-task": (1, 7)},
    ),
)


def rows_of(session: str) -> frozenset[int]:
    """The rows of a session that differ."""
    return frozenset(row for difference in DIFFERENCES for row in difference.rows.get(session, ()))


def beyond_of(session: str) -> list[str]:
    """The events of a session that Mesos has not sent."""
    return sorted(event for difference in DIFFERENCES for event in difference.beyond.get(session, ()))
