"""A Mesos v1 client for anyone: scheduler and operator. Knows no TensorFlow."""

from tfmesos.client.errors import CallRejected, ClientError, MasterUnreachable, NotSubscribed, SubscriptionRejected
from tfmesos.client.operator import AgentClient, MasterClient
from tfmesos.client.scheduler import SchedulerClient

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
