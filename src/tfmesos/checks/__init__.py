"""Checks and health checks of a task: when to look, how, and what the result means.

faults.py    what cannot be checked
judges.py    what a result means for the task (pure)
probes.py    one look at a task, by TCP or HTTP
watches.py   the rhythm: delay, probe, interval, until closed
"""

from tfmesos.checks.faults import fault
from tfmesos.checks.judges import empty_status
from tfmesos.checks.probes import NotLooked, RunCommand
from tfmesos.checks.watches import TaskChecks

__all__ = ["NotLooked", "RunCommand", "TaskChecks", "empty_status", "fault"]
