"""IsolationFailed: a container cannot be kept apart as was asked for."""

from tfmesos.agent.errors import AgentError


class IsolationFailed(AgentError):
    """A container cannot be isolated, or be given what it was promised. The text goes to the framework."""
