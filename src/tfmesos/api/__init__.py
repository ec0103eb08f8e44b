"""The face for Python: `cluster()` gives a running cluster to a `with` block; `HostedRun` runs one job for `tfrun`."""

from tfmesos.api.arguments import build_container, working_directory
from tfmesos.api.hosted import HostedRun
from tfmesos.api.master import LOCAL, find_master
from tfmesos.api.session import Cluster, cluster

__all__ = ["LOCAL", "Cluster", "HostedRun", "build_container", "cluster", "find_master", "working_directory"]
