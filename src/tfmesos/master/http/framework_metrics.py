"""What a master measures of each registered framework: `master/frameworks/<name>/<id>/…` (Mesos 1.11).

The name is percent-encoded, so that it is one component whatever it holds.
"""

from collections import Counter
from urllib.parse import quote

from tfmesos.master.core.books import Books, Framework
from tfmesos.wire import mesos_pb2, scheduler_pb2
from tfmesos.wire.text import TERMINAL_STATES

_COUNTERS = (
    *("calls", "events", "operations"),
    *(f"offers/{fate}" for fate in ("accepted", "declined", "rescinded", "sent")),
    *(f"tasks/terminal/{mesos_pb2.TaskState.Name(state).lower()}" for state in TERMINAL_STATES),  # type: ignore[arg-type]
    *(
        f"{what}/{value.name.lower()}"
        for what, kind in (
            ("calls", scheduler_pb2.Call.Type),
            ("events", scheduler_pb2.Event.Type),
            ("operations", mesos_pb2.Offer.Operation.Type),
        )
        for value in kind.DESCRIPTOR.values
        if value.number
    ),
)
_ACTIVE = {
    f"tasks/active/{name.lower()}": number
    for name, number in mesos_pb2.TaskState.items()
    if number not in TERMINAL_STATES
}


def framework_counters(books: Books) -> dict[str, float]:
    """What only grows."""
    return {
        f"{_prefix(framework)}/{name}": float(framework.counts[name])
        for framework in books.frameworks.values()
        for name in _COUNTERS
    }


def framework_gauges(books: Books) -> dict[str, float]:
    """What may go down."""
    numbers: dict[str, float] = {}
    for framework in books.frameworks.values():
        prefix = _prefix(framework)
        tasks = (*framework.tasks.values(), *framework.unreachable.values())
        states = Counter(task.message.state for task in tasks)
        numbers[f"{prefix}/subscribed"] = float(framework.is_connected)
        numbers |= {f"{prefix}/{name}": float(states[number]) for name, number in _ACTIVE.items()}
        for role in framework.info.roles or [framework.info.role]:
            numbers[f"{prefix}/roles/{role}/suppressed"] = float(role in framework.suppressed)
    return numbers


def _prefix(framework: Framework) -> str:
    return f"master/frameworks/{quote(framework.info.name, safe='')}/{framework.id}"
