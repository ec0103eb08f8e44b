"""What the agent remembers over its own end: facts in a journal, and the state they come to.

<work_dir>/meta/
  agent.journal       facts (see `facts`), written before what follows from them leaves the agent
"""

from tfmesos.agent.checkpoint.facts import (
    AgentKept,
    DrainKept,
    ExecutorEnding,
    ExecutorForgotten,
    ExecutorKept,
    Fact,
    FrameworkEnding,
    FrameworkForgotten,
    FrameworkKept,
    ReservationsKept,
    TaskForgotten,
    TaskKept,
    TaskKillAsked,
    TaskSent,
    UpdateAcknowledged,
    UpdateQueued,
)
from tfmesos.agent.checkpoint.recovered import Recovered, RecoveredExecutor, RecoveredFramework, RecoveredTask
from tfmesos.agent.checkpoint.store import CheckpointStore

__all__ = [
    "AgentKept",
    "CheckpointStore",
    "DrainKept",
    "ExecutorEnding",
    "ExecutorForgotten",
    "ExecutorKept",
    "Fact",
    "FrameworkEnding",
    "FrameworkForgotten",
    "FrameworkKept",
    "Recovered",
    "RecoveredExecutor",
    "RecoveredFramework",
    "RecoveredTask",
    "ReservationsKept",
    "TaskForgotten",
    "TaskKept",
    "TaskKillAsked",
    "TaskSent",
    "UpdateAcknowledged",
    "UpdateQueued",
]
