"""What can go wrong with an agent as a whole.

AgentError                 the agent cannot start or go on; exit status 1 as Mesos' own
  WorkDirInUse             another running agent holds the work directory
  AgentStopped             the master ordered this agent to shut down
  BadAgentFlags            a value of a flag cannot be used on this machine
  LaunchFailed             a container could not be made (containerizer/protocol.py); only its task fails

An address that is taken is transport's BindError.
"""

from tfmesos.errors import TfmesosError


class AgentError(TfmesosError):
    """The root of this room's errors."""


class WorkDirInUse(AgentError):
    """Another running agent holds the work directory."""

    def __init__(self, work_dir: str) -> None:
        super().__init__(f"another agent uses the work directory {work_dir}; give this one a --work_dir of its own")
        self.work_dir = work_dir


class AgentStopped(AgentError):
    """The master ordered this agent to shut down."""

    def __init__(self, message: str) -> None:
        super().__init__(f"the master ordered this agent to shut down: {message or 'no reason given'}")
        self.message = message


class BadAgentFlags(AgentError):
    """A value of a flag cannot be used on this machine."""
