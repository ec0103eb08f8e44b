"""The embedded Mesos master: it knows agents and frameworks, shares the resources out and passes messages on.

Promises: wire-compatible with Apache Mesos 1.11 towards v1 HTTP schedulers, agents (libprocess) and operators;
one machine or a lab, not highly available. It runs nothing itself.
"""

from typing import TYPE_CHECKING, Any

from tfmesos.master.errors import AddressUnusable, MasterError, MasterFlagError, WorkDirTaken, WorkDirUnusable
from tfmesos.master.flags import MasterFlags

if TYPE_CHECKING:
    from tfmesos.master.app import Master

__all__ = [
    "AddressUnusable",
    "Master",
    "MasterError",
    "MasterFlagError",
    "MasterFlags",
    "WorkDirTaken",
    "WorkDirUnusable",
]


def __getattr__(name: str) -> Any:
    """Load the daemon only when it is used: `mesos-master --help` needs no server."""
    if name != "Master":
        raise AttributeError(f"module 'tfmesos.master' has no attribute {name!r}")
    from tfmesos.master.app import Master

    return Master
