"""The face for Python: `cluster()` gives a running cluster to a `with` block; `HostedRun` runs one job for `tfrun`."""

from tfmesos.api.cluster import Cluster, cluster
from tfmesos.api.hosted import HostedRun
from tfmesos.api.master import LOCAL, find_master

__all__ = ["LOCAL", "Cluster", "HostedRun", "cluster", "find_master"]
