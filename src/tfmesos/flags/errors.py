"""Errors of flags.

TfmesosError
  FlagError       a flag that is unknown, misses its value, has a bad one, comes twice, or is required and absent
"""

from tfmesos.errors import TfmesosError


class FlagError(TfmesosError):
    """A flag the program cannot take; the text is Mesos' own where Mesos has one. Exit status 1 as in Mesos 1.11."""

    exit_status = 1
