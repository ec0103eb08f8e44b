"""Errors of supervision.

SupervisionError          a fork server or a supervisor could not be started or reached; says why
  SupervisorLost          it was there and went away before it could do what was asked
  OwnedElsewhere          another process owns it
  ConsoleBusy             another one has the console's input
  LetGo                   its Supervisors were closed; `adopt` finds it again
"""

from tfmesos.errors import TfmesosError


class SupervisionError(TfmesosError):
    """A supervisor could not be started or reached."""


class SupervisorLost(SupervisionError):
    """The fork server or the supervisor ended (was killed) before it answered."""


class OwnedElsewhere(SupervisionError):
    """A supervisor has one owner at a time, and that one lives."""


class ConsoleBusy(SupervisionError):
    """A program's stdin has one writer at a time."""


class LetGo(SupervisionError):
    """A detached program goes on without this owner, who will not hear of its end."""
