"""`/metrics/snapshot`: numbers by Mesos' names. Built only when asked."""

from collections import Counter

from tfmesos.master.core.books import Books
from tfmesos.metrics import machine_numbers
from tfmesos.resources import Resources
from tfmesos.wire.text import state_name

_RESOURCES = ("cpus", "gpus", "mem", "disk")
_LIVE_STATES = ("staging", "starting", "running", "killing", "unreachable")
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
            "status_update_acknowledgements",
            "status_updates",
        )
    ),
    "slave_registrations",
    "slave_reregistrations",
    "slave_removals",
    *(f"slave_removals/reason_{reason}" for reason in ("registered", "unhealthy", "unregistered")),
)


def snapshot(books: Books, uptime_s: float) -> dict[str, float]:
    """Every metric, now."""
    numbers = {f"master/{name}": float(books.counts[name]) for name in _COUNTERS}
    numbers |= {"master/elected": 1.0, "master/uptime_secs": uptime_s}
    numbers |= _members(books) | _tasks(books) | _resources(books)
    return numbers | {f"system/{name}": number for name, number in machine_numbers().items()}


def _members(books: Books) -> dict[str, float]:
    frameworks, agents = len(books.frameworks), len(books.agents)
    connected_frameworks = sum(framework.is_connected for framework in books.frameworks.values())
    connected_agents = sum(agent.is_connected for agent in books.agents.values())
    return {
        "master/frameworks_active": float(connected_frameworks),
        "master/frameworks_connected": float(connected_frameworks),
        "master/frameworks_disconnected": float(frameworks - connected_frameworks),
        "master/frameworks_inactive": float(frameworks - connected_frameworks),
        "master/slaves_active": float(connected_agents),
        "master/slaves_connected": float(connected_agents),
        "master/slaves_disconnected": float(agents - connected_agents),
        "master/slaves_inactive": float(agents - connected_agents),
        "master/slaves_unreachable": float(len(books.unreachable_agents)),
        "master/outstanding_offers": float(len(books.offers)),
    }


def _tasks(books: Books) -> dict[str, float]:
    states = Counter(
        state_name(task.message.state).removeprefix("TASK_").lower()
        for framework in books.frameworks.values()
        for task in (*framework.tasks.values(), *framework.unreachable.values())
    )
    return {f"master/tasks_{state}": float(states[state]) for state in _LIVE_STATES}


def _resources(books: Books) -> dict[str, float]:
    numbers: dict[str, float] = {}
    total = sum((agent.total for agent in books.agents.values()), Resources())
    used = sum((agent.used() for agent in books.agents.values()), Resources())
    plain = total.nonrevocable(), used.nonrevocable()
    for name in _RESOURCES:
        numbers |= _share(f"master/{name}", plain[0].scalar(name), plain[1].scalar(name))
        revocable = total.scalar(name) - plain[0].scalar(name), used.scalar(name) - plain[1].scalar(name)
        numbers |= _share(f"master/{name}_revocable", *revocable)
    return numbers


def _share(name: str, total: int, used: int) -> dict[str, float]:
    return {
        f"{name}_total": total / 1000,
        f"{name}_used": used / 1000,
        f"{name}_percent": used / total if total else 0.0,
    }
