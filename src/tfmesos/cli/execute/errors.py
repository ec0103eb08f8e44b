"""Errors of `mesos-execute`; all end it with status 1, as Mesos 1.11 does.

ExecuteError        something asked for cannot be
  UsageError        the flags contradict each other: the usage is printed below the text
"""

from tfmesos.errors import TfmesosError

__all__ = ["ExecuteError", "UsageError"]


class ExecuteError(TfmesosError):
    """Something asked for cannot be."""

    exit_status = 1


class UsageError(ExecuteError):
    """The flags contradict each other."""
