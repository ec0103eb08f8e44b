"""What can go wrong with an agent as a whole.

AgentError                 the agent cannot start or go on; exit status 1 as Mesos' own
  WorkDirInUse             another running agent holds the work directory
  AddressInUse             another program listens on the address
  AgentStopped             the master ordered this agent to shut down
  BadAgentFlags            a value of a flag cannot be used on this machine
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
