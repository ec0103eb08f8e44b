"""Distributed TensorFlow training on Apache Mesos, with a Mesos in the box."""

from typing import TYPE_CHECKING, Any

from tfmesos.version import __version__

if TYPE_CHECKING:
    from tfmesos.api import Cluster, cluster
    from tfmesos.launcher import Job, JobFailed

__all__ = ["Cluster", "Job", "JobFailed", "__version__", "cluster"]

_HOMES = {
    "Cluster": "tfmesos.api",
    "cluster": "tfmesos.api",
    "Job": "tfmesos.launcher",
    "JobFailed": "tfmesos.launcher",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `tfrun --help` needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tfmesos' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
