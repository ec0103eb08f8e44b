"""A Mesos v1 client for anyone: scheduler, executor, operator. Knows no TensorFlow.

scheduler.py    the scheduler client; _subscription.py is its core (_moves.py: what goes in and out), _calls.py the
                connection for its calls, _inbox.py its events on their way to the user
executor.py     the executor client; _executor_session.py is its core (_executor_moves.py)
executor_environment.py   what an agent tells its executor through the environment
operator.py     a master's operator API; agent.py an agent's: files, containers; _kept.py: the connection they share
"""

from typing import TYPE_CHECKING, Any

from tfmesos.client.errors import (
    CallRejected,
    ClientError,
    ExecutorEnvironmentError,
    MasterUnreachable,
    NotAMaster,
    NotSubscribed,
    SubscriptionRejected,
)
from tfmesos.client.scheduler import SchedulerClient

if TYPE_CHECKING:
    from tfmesos.client.agent import AgentClient
    from tfmesos.client.executor import ExecutorClient
    from tfmesos.client.executor_environment import ExecutorEnvironment
    from tfmesos.client.operator import MasterClient

__all__ = [
    "AgentClient",
    "CallRejected",
    "ClientError",
    "ExecutorClient",
    "ExecutorEnvironment",
    "ExecutorEnvironmentError",
    "MasterClient",
    "MasterUnreachable",
    "NotAMaster",
    "NotSubscribed",
    "SchedulerClient",
    "SubscriptionRejected",
]

_LAZY = {
    "AgentClient": "agent",
    "ExecutorClient": "executor",
    "ExecutorEnvironment": "executor_environment",
    "MasterClient": "operator",
}


def __getattr__(name: str) -> Any:
    """Bring in a client and its messages when asked for: `mesos-execute` needs the scheduler's only."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
