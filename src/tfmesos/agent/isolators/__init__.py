"""Keeps containers apart: what each may use, and what it may open.

isolator.py         what an isolator is
table.py            the isolators that there are, their order, and --isolation (pure)
allowed_devices.py  devices that all may use, and --allowed_devices
isolation.py        all isolators as one, for the containerizer
errors.py           what goes wrong
"""

from tfmesos.agent.isolators.allowed_devices import parse_allowed_devices
from tfmesos.agent.isolators.errors import IsolationFailed
from tfmesos.agent.isolators.isolation import Isolation, Prepared
from tfmesos.agent.isolators.isolator import OWN, Isolator, LaunchEdits, Limitation, QuietIsolator, Shares
from tfmesos.agent.isolators.table import IsolatorNames, parse_isolation

__all__ = [
    "OWN",
    "Isolation",
    "IsolationFailed",
    "Isolator",
    "IsolatorNames",
    "LaunchEdits",
    "Limitation",
    "Prepared",
    "QuietIsolator",
    "Shares",
    "parse_allowed_devices",
    "parse_isolation",
]
