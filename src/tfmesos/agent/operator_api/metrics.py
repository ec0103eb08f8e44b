"""What an agent measures, by Mesos' names; read only when asked (Mesos 1.11: src/slave/metrics.cpp)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

from tfmesos.agent.core import Phase
from tfmesos.agent.operator_api.state import AgentView, used_resources
from tfmesos.metrics import Metrics, shares
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2

_COUNTERS = (
    "container_launch_errors",
    "executors_preempted",
    "executors_terminated",
    "invalid_framework_messages",
    "invalid_status_updates",
    "recovery_errors",
    "tasks_failed",
    "tasks_finished",
    "tasks_gone",
    "tasks_killed",
    "tasks_lost",
    "valid_framework_messages",
    "valid_status_updates",
)
_LIVE_STATES = {
    name: mesos_pb2.TaskState.Value(f"TASK_{name.upper()}") for name in ("staging", "starting", "running", "killing")
}
_PHASES = {
    "registering": Phase.REGISTERING,
    "running": Phase.RUNNING,
    "terminating": Phase.TERMINATING,
}
_RESOURCES = ("cpus", "gpus", "mem", "disk")


def add_agent_metrics(metrics: Metrics, view: AgentView, uptime_s: Callable[[], float]) -> None:
    """Have the metrics tell of what the agent knows."""
    counts = view.core.counts
    metrics.add_counters(lambda: {f"slave/{name}": float(counts[name]) for name in {*_COUNTERS, *counts}})
    metrics.add_counters(partial(_fetches, view))
    metrics.add_counters(partial(_removals, view))
    metrics.add_gauges(lambda: {"slave/uptime_secs": uptime_s()})
    for read in (_members, _resources, _cache, _old_sandboxes):
        metrics.add_gauges(partial(read, view))


def _members(view: AgentView) -> dict[str, float]:
    states = Counter(record.task.state for record in view.core.tasks())
    phases = Counter(executor.phase for executor in view.core.executors())
    return {
        "slave/registered": float(view.membership.is_registered),
        "slave/frameworks_active": float(len(view.core.frameworks)),
        **{f"slave/executors_{name}": float(phases[phase]) for name, phase in _PHASES.items()},
        **{f"slave/tasks_{name}": float(states[number]) for name, number in _LIVE_STATES.items()},
    }


def _resources(view: AgentView) -> dict[str, float]:
    total, used = view.identity.resources, used_resources(view.core)
    numbers: dict[str, float] = {}
    for name in _RESOURCES:
        numbers |= shares(f"slave/{name}", total.scalar(name), used.scalar(name))
        numbers |= shares(f"slave/{name}_revocable", *_revocable(total, used, name))
    return numbers


def _revocable(total: Resources, used: Resources, name: str) -> tuple[int, int]:
    return (
        total.scalar(name) - total.nonrevocable().scalar(name),
        used.scalar(name) - used.nonrevocable().scalar(name),
    )


def _fetches(view: AgentView) -> dict[str, float]:
    fetcher = view.containerizer.fetcher
    return {
        "containerizer/fetcher/task_fetches_succeeded": float(fetcher.succeeded),
        "containerizer/fetcher/task_fetches_failed": float(fetcher.failed),
        "containerizer/mesos/container_destroy_errors": 0.0,
    }


def _cache(view: AgentView) -> dict[str, float]:
    return {
        "containerizer/fetcher/cache_size_total_bytes": float(view.flags.fetcher_cache_size),
        "containerizer/fetcher/cache_size_used_bytes": float(view.containerizer.fetcher.cache.used),
    }


def _removals(view: AgentView) -> dict[str, float]:
    collector = view.containerizer.collector
    return {
        "gc/path_removals_succeeded": float(collector.succeeded),
        "gc/path_removals_failed": float(collector.failed),
    }


def _old_sandboxes(view: AgentView) -> dict[str, float]:
    schedule = view.containerizer.collector.schedule
    return {
        "gc/path_removals_pending": float(len(schedule)),
        "slave/executor_directory_max_allowed_age_secs": schedule.max_age_s,
    }
