"""Jobs on Mesos: a gang of tasks is placed, wired, followed and ended as one. Knows the training frameworks."""

from typing import TYPE_CHECKING, Any

from tfmesos.launcher.containers import Containerizer, ContainerOptions, parse_shm
from tfmesos.launcher.errors import JobFailed, JobSpecError, NeverFits
from tfmesos.launcher.options import ExtraConfig, RunOptions
from tfmesos.launcher.sinks import Stream, TextSink
from tfmesos.launcher.specification import Job, jobs_from
from tfmesos.launcher.tasks import Outcome, TaskFailure, TaskView
from tfmesos.launcher.volumes import Volume

if TYPE_CHECKING:
    from tfmesos.launcher.planning import TaskPlan, plan
    from tfmesos.launcher.run import JobRun

__all__ = [
    "ContainerOptions",
    "Containerizer",
    "ExtraConfig",
    "Job",
    "JobFailed",
    "JobRun",
    "JobSpecError",
    "NeverFits",
    "Outcome",
    "RunOptions",
    "Stream",
    "TaskFailure",
    "TaskPlan",
    "TaskView",
    "TextSink",
    "Volume",
    "jobs_from",
    "parse_shm",
    "plan",
]

_HOMES = {
    "JobRun": "tfmesos.launcher.run",
    "TaskPlan": "tfmesos.launcher.planning",
    "plan": "tfmesos.launcher.planning",
}


def __getattr__(name: str) -> Any:
    """Import what needs a Mesos client when it is first used: options can be made and checked without."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tfmesos.launcher' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
