"""Errors of the launcher.

TfmesosError
  JobSpecError       a job, volume, variable or option that cannot be (exit status 2)
  JobFailed          a job that ran, or tried to, and did not succeed (exit statuses: docs/user.md)
    NeverFits        what was asked can never be offered (69)
  PluginError        a docker container cannot be given its GPUs; the launch does not happen (nvidia_plugin.py)
"""

from tfmesos.errors import TfmesosError
from tfmesos.launcher.tasks import TaskFailure

NO_RESOURCES = 69


class JobSpecError(TfmesosError):
    """What was asked for is wrong; the text names the value and what is allowed."""

    exit_status = 2


class JobFailed(TfmesosError):
    """The job did not succeed; `failure` is the first task that failed, if one did."""

    def __init__(self, text: str, *, exit_status: int = 1, failure: TaskFailure | None = None) -> None:
        super().__init__(text)
        self.exit_status = exit_status
        self.failure = failure


class NeverFits(JobFailed):
    """No agent of this cluster can ever offer what the job needs."""

    def __init__(self, text: str) -> None:
        super().__init__(text, exit_status=NO_RESOURCES)
