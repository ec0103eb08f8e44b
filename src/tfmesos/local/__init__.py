"""The embedded cluster: a master and an agent in one child process behind unix sockets. What `--master local` means."""

from tfmesos.local.cluster import LocalCluster
from tfmesos.local.errors import LocalClusterDied, LocalClusterError, LocalRefusal
from tfmesos.local.needs import LocalNeeds, check_options

__all__ = ["LocalCluster", "LocalClusterDied", "LocalClusterError", "LocalNeeds", "LocalRefusal", "check_options"]
