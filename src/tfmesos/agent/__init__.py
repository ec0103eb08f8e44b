"""The agent: registers a machine's resources at a master, runs the tasks it is given and reports on them."""

from typing import TYPE_CHECKING, Any

from tfmesos.agent.errors import AgentError, AgentStopped, BadAgentFlags, WorkDirInUse
from tfmesos.agent.flags import AgentFlags

if TYPE_CHECKING:
    from tfmesos.agent.app import Agent

__all__ = ["Agent", "AgentError", "AgentFlags", "AgentStopped", "BadAgentFlags", "WorkDirInUse"]


def __getattr__(name: str) -> Any:
    """Bring in the agent itself (and an HTTP server) only when it is wanted: help needs the flags alone."""
    if name != "Agent":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tfmesos.agent.app import Agent

    return Agent
