"""What a training framework wants to know before its program starts."""

from collections.abc import Mapping
from typing import Protocol

from tfmesos.launcher.addresses import ClusterAddresses, TaskAddress


class TrainingFramework(Protocol):
    """Called once for every task of an attempt, after all addresses are known and before anything starts."""

    name: str

    def environment(self, me: TaskAddress, everyone: ClusterAddresses) -> Mapping[str, str]:
        """The variables that tell `me` of `everyone`; each is set in the task unless the user set it. Pure."""
