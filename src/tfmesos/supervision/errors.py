"""Errors of supervision.

SupervisionError          a fork server or a supervisor could not be started; says why
  SupervisorLost          it was there and went away before it could do what was asked
"""

from tfmesos.errors import TfmesosError


class SupervisionError(TfmesosError):
    """A supervisor could not be started."""


class SupervisorLost(SupervisionError):
    """The fork server or the supervisor ended (was killed) before it answered."""
