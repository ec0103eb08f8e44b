"""What can go wrong with an agent as a whole.

AgentError                 the agent cannot start or go on; exit status 1 as Mesos' own
  WorkDirInUse             another running agent holds the work directory
  AgentStopped             the master ordered this agent to shut down
    AgentGone              because an operator has marked it gone; exit status 3: to start it again makes a new agent
  BadAgentFlags            a value of a flag cannot be used on this machine
  CheckpointUnusable       what the agent before kept cannot be read
  AgentChanged             this agent is not the one that its work directory remembers
  BadUser                  a task cannot run as its user here; only that task fails
  LaunchFailed             a container could not be made (containerizer/errors.py); only its task fails

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


class AgentGone(AgentStopped):
    """An operator has told the master that this agent will never be back: nobody is to start it again."""

    exit_status = 3
    ORDER = "Agent has been marked gone"
    """Mesos 1.11: the text of the master's order; nothing else in it tells why."""

    def __init__(self) -> None:
        super().__init__(self.ORDER)


class BadAgentFlags(AgentError):
    """A value of a flag cannot be used on this machine."""


class CheckpointUnusable(AgentError):
    """What the agent before kept cannot be read."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"cannot recover from {path}: {reason}")
        self.path = path


class AgentChanged(AgentError):
    """This agent is not the one that its work directory remembers, and tasks of that one may still run."""

    def __init__(self, agent_id: str, difference: str, policy: str, path: str) -> None:
        super().__init__(
            f"agent {agent_id} was another one: {difference} (--reconfiguration_policy={policy}); start it with its "
            f"old flags, or end its tasks by --recover=cleanup, or give its id up: rm -f {path}"
        )
        self.difference = difference


class BadUser(AgentError):
    """There is no such user on this machine, or this agent may not become it."""
