"""What can go wrong with the embedded cluster.

LocalClusterError               status 69: it could not start; the text names the log
  LocalClusterDied              it ended while the job needed it; `.log_path`, `.last_lines`
LocalRefusal                    status 2: the job asks for what one machine without a cluster cannot give
"""

from tfmesos.errors import TfmesosError

__all__ = ["LocalClusterDied", "LocalClusterError", "LocalRefusal"]


class LocalClusterError(TfmesosError):
    """The embedded cluster could not start."""

    exit_status = 69

    def __init__(self, message: str, *, log_path: str | None = None, last_lines: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.log_path = log_path
        self.last_lines = last_lines


class LocalClusterDied(LocalClusterError):
    """The embedded cluster ended although nobody asked it to."""

    exit_status = 1


class LocalRefusal(TfmesosError):
    """The job cannot run on the embedded cluster; nothing was started."""

    exit_status = 2
