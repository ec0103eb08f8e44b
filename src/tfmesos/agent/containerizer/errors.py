"""LaunchFailed: the one way in which making a container goes wrong."""

from tfmesos.agent.errors import AgentError


class LaunchFailed(AgentError):
    """A container could not be made; nothing of it is left. The text goes to the framework."""
