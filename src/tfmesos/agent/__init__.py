"""The agent: registers a machine's resources at a master, runs the tasks it is given and reports on them.

core/           frameworks, executors, tasks, status updates: what is to be done (pure)
runner/         does it
membership/     being an agent of a master
containerizer/  containers: supervised programs in sandboxes, nested in each other
sandboxes/      directories of tasks, and their removal
fetcher/        brings what a command needs into its sandbox, by fetch_program/, a child
checkpoint/     the facts that the next agent needs, on disk
recovery/       from the core to these facts, and back
executor_api/   how executors talk with the agent
container_api/  containers for executors and operators
operator_api/   everything else that is told over HTTP
doctor/         what of all that an agent may need is on this machine
app.py          puts them together
"""

from typing import TYPE_CHECKING, Any

from tfmesos.agent.errors import AgentError, AgentGone, AgentStopped, BadAgentFlags, WorkDirInUse
from tfmesos.agent.flags import AgentFlags

if TYPE_CHECKING:
    from tfmesos.agent.app import Agent

__all__ = ["Agent", "AgentError", "AgentFlags", "AgentGone", "AgentStopped", "BadAgentFlags", "WorkDirInUse"]


def __getattr__(name: str) -> Any:
    """Bring in the agent itself (and an HTTP server) only when it is wanted: help needs the flags alone."""
    if name != "Agent":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tfmesos.agent.app import Agent

    return Agent
