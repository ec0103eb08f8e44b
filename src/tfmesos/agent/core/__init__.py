"""The pure core of the agent: frameworks, executors, tasks, and the status updates on their way.

records.py          what is known of each
books.py            all of it, and how it is forgotten
actions.py          what the core wants done
agent_core.py       the events
launches.py         tasks that arrive
command_tasks.py    tasks whose executor the agent itself is
executor_tasks.py   executors with a program of their own, seen from outside
executor_calls.py   what such executors say
resizing.py         what executors' containers hold while tasks come and go
reports.py          what frameworks are told
restoring.py        what the agent before has kept
updates.py          the streams of status updates
"""

from tfmesos.agent.core.actions import (
    Action,
    CloseStream,
    Deliver,
    Fact,
    ForgetExecutor,
    ForgetFramework,
    ForgetTask,
    KeepDrain,
    KeepEnding,
    KeepFramework,
    KeepFrameworkEnding,
    KeepKill,
    KeepTasks,
    KillContainer,
    OpenGate,
    Report,
    SendEvent,
    StartChecks,
    StartContainer,
    StopChecks,
    Tell,
    UpdateContainer,
)
from tfmesos.agent.core.agent_core import AgentCore
from tfmesos.agent.core.books import CoreSettings
from tfmesos.agent.core.events import NANOSECONDS, NOTHING_SAID, Ending, Running
from tfmesos.agent.core.executor_tasks import own_grace_of
from tfmesos.agent.core.launches import Order
from tfmesos.agent.core.records import (
    Cause,
    ExecutorRecord,
    FrameworkRecord,
    Kind,
    Phase,
    TaskKey,
    TaskRecord,
    has_capability,
)
from tfmesos.agent.core.restoring import Clocks, Found
from tfmesos.agent.core.texts import is_docker

__all__ = [
    "NANOSECONDS",
    "NOTHING_SAID",
    "Action",
    "AgentCore",
    "Cause",
    "Clocks",
    "CloseStream",
    "CoreSettings",
    "Deliver",
    "Ending",
    "ExecutorRecord",
    "Fact",
    "ForgetExecutor",
    "ForgetFramework",
    "ForgetTask",
    "Found",
    "FrameworkRecord",
    "KeepDrain",
    "KeepEnding",
    "KeepFramework",
    "KeepFrameworkEnding",
    "KeepKill",
    "KeepTasks",
    "KillContainer",
    "Kind",
    "OpenGate",
    "Order",
    "Phase",
    "Report",
    "Running",
    "SendEvent",
    "StartChecks",
    "StartContainer",
    "StopChecks",
    "TaskKey",
    "TaskRecord",
    "Tell",
    "UpdateContainer",
    "has_capability",
    "is_docker",
    "own_grace_of",
]
