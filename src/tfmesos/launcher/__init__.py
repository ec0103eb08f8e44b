"""Jobs on Mesos: a gang of tasks is placed, wired, followed and ended as one. Knows the training frameworks."""

from tfmesos.launcher.errors import JobFailed, JobSpecError, NeverFits
from tfmesos.launcher.options import ExtraConfig, RunOptions
from tfmesos.launcher.planning import TaskPlan, plan
from tfmesos.launcher.run import JobRun
from tfmesos.launcher.sinks import Stream, TextSink
from tfmesos.launcher.specification import Job, jobs_from
from tfmesos.launcher.tasks import Outcome, TaskFailure, TaskView
from tfmesos.launcher.volumes import Containerizer, ContainerOptions, Volume

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
    "plan",
]
