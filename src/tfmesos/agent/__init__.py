"""The agent: registers a machine's resources at a master, runs the tasks it is given and reports on them."""

from tfmesos.agent.app import Agent
from tfmesos.agent.errors import AddressInUse, AgentError, AgentStopped, WorkDirInUse
from tfmesos.agent.flags import AgentFlags

__all__ = ["AddressInUse", "Agent", "AgentError", "AgentFlags", "AgentStopped", "WorkDirInUse"]
