"""A Mesos v1 client for anyone: scheduler and operator. Knows no TensorFlow."""

from typing import TYPE_CHECKING, Any

from tfmesos.client.errors import CallRejected, ClientError, MasterUnreachable, NotSubscribed, SubscriptionRejected
from tfmesos.client.scheduler import SchedulerClient

if TYPE_CHECKING:
    from tfmesos.client.operator import AgentClient, MasterClient

__all__ = [
    "AgentClient",
    "CallRejected",
    "ClientError",
    "MasterClient",
    "MasterUnreachable",
    "NotSubscribed",
    "SchedulerClient",
    "SubscriptionRejected",
]


def __getattr__(name: str) -> Any:
    """Bring in the operator clients and their messages when asked for: `mesos-execute` needs none of them."""
    if name not in ("AgentClient", "MasterClient"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tfmesos.client import operator

    return getattr(operator, name)
