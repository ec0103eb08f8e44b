"""What a master measures, by Mesos' names; read only when asked (Mesos 1.11: src/master/metrics.cpp)."""

from collections import Counter
from collections.abc import Callable
from functools import partial

from tfmesos.master.core.books import Books
from tfmesos.master.flags import MasterFlags
from tfmesos.master.http.framework_metrics import framework_counters, framework_gauges
from tfmesos.metrics import Metrics, shares
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2

_RESOURCES = ("cpus", "gpus", "mem", "disk")
_LIVE_STATES = {
    name: mesos_pb2.TaskState.Value(f"TASK_{name.upper()}")
    for name in ("staging", "starting", "running", "killing", "unreachable")
}
_COUNTERS = (
    "dropped_messages",
    "recovery_slave_removals",
    *(
        f"tasks_{end}"
        for end in ("finished", "failed", "killed", "lost", "error", "dropped", "gone", "gone_by_operator")
    ),
    *(
        f"messages_{name}"
        for name in (
            "authenticate",
            "deactivate_framework",
            "decline_offers",
            "executor_to_framework",
            "exited_executor",
            "framework_to_executor",
            "kill_task",
            "launch_tasks",
            "operation_status_update",
            "operation_status_update_acknowledgement",
            "reconcile_operations",
            "reconcile_tasks",
            "register_framework",
            "register_slave",
            "reregister_framework",
            "reregister_slave",
            "resource_request",
            "revive_offers",
            "status_update",
            "status_update_acknowledgement",
            "suppress_offers",
            "unregister_framework",
            "unregister_slave",
            "update_slave",
        )
    ),
    *(
        f"{verdict}_{name}"
        for verdict in ("valid", "invalid")
        for name in (
            "executor_to_framework_messages",
            "framework_to_executor_messages",
            "operation_status_update_acknowledgements",
            "operation_status_updates",
            "status_update_acknowledgements",
            "status_updates",
        )
    ),
    *(f"slave_unreachable_{step}" for step in ("scheduled", "canceled", "completed")),
    *(f"slave_shutdowns_{step}" for step in ("scheduled", "canceled", "completed")),
    "slave_registrations",
    "slave_reregistrations",
    "slave_removals",
    *(f"slave_removals/reason_{reason}" for reason in ("registered", "unhealthy", "unregistered")),
)
_ALWAYS_ZERO = {
    "allocator/event_queue_dispatches": 0.0,
    "allocator/mesos/event_queue_dispatches": 0.0,
    "master/event_queue_dispatches": 0.0,
    "master/event_queue_http_requests": 0.0,
    "master/event_queue_messages": 0.0,
    "master/http_cache_hits": 0.0,
    "registrar/queued_operations": 0.0,
}
"""Queues and a cache that Mesos has and this master does not need."""


def add_master_metrics(metrics: Metrics, books: Books, flags: MasterFlags, uptime_s: Callable[[], float]) -> None:
    """Have the metrics tell of what the master knows."""
    metrics.add_counters(lambda: {f"master/{name}": float(books.counts[name]) for name in {*_COUNTERS, *books.counts}})
    metrics.add_gauges(lambda: {"master/elected": 1.0, "master/uptime_secs": uptime_s(), **_ALWAYS_ZERO})
    for read in (_members, _tasks, _resources):
        metrics.add_gauges(partial(read, books))
    if flags.publish_per_framework_metrics:
        metrics.add_counters(partial(framework_counters, books))
        metrics.add_gauges(partial(framework_gauges, books))


def _members(books: Books) -> dict[str, float]:
    frameworks, agents = len(books.frameworks), len(books.agents)
    connected_frameworks = sum(framework.is_connected for framework in books.frameworks.values())
    active_frameworks = sum(framework.is_active for framework in books.frameworks.values())
    connected_agents = sum(agent.is_connected for agent in books.agents.values())
    active_agents = sum(agent.is_active for agent in books.agents.values())
    return {
        "master/frameworks_active": float(active_frameworks),
        "master/frameworks_connected": float(connected_frameworks),
        "master/frameworks_disconnected": float(frameworks - connected_frameworks),
        "master/frameworks_inactive": float(frameworks - active_frameworks),
        "master/slaves_active": float(active_agents),
        "master/slaves_connected": float(connected_agents),
        "master/slaves_disconnected": float(agents - connected_agents),
        "master/slaves_inactive": float(agents - active_agents),
        "master/slaves_unreachable": float(len(books.unreachable_agents)),
        "master/outstanding_offers": float(len(books.offers)),
    }


def _tasks(books: Books) -> dict[str, float]:
    states = Counter(
        task.message.state
        for framework in books.frameworks.values()
        for task in (*framework.tasks.values(), *framework.unreachable.values())
    )
    return {f"master/tasks_{name}": float(states[number]) for name, number in _LIVE_STATES.items()}


def _resources(books: Books) -> dict[str, float]:
    numbers: dict[str, float] = {}
    total = Resources.total(agent.total for agent in books.agents.values())
    used = Resources.total(agent.used() for agent in books.agents.values())
    offered = Resources.total(agent.offered() for agent in books.agents.values())
    for name in sorted(total.names()):
        if total.scalar(name):
            given = used.scalar(name) + offered.scalar(name)
            numbers[f"allocator/mesos/resources/{name}/total"] = total.scalar(name) / 1000
            numbers[f"allocator/mesos/resources/{name}/offered_or_allocated"] = given / 1000
    plain = total.nonrevocable(), used.nonrevocable()
    for name in _RESOURCES:
        numbers |= shares(f"master/{name}", plain[0].scalar(name), plain[1].scalar(name))
        revocable = total.scalar(name) - plain[0].scalar(name), used.scalar(name) - plain[1].scalar(name)
        numbers |= shares(f"master/{name}_revocable", *revocable)
    return numbers
