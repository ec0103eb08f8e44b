"""How facts are written: each under its number. Fields are only ever added, at the end, with a default."""

from __future__ import annotations

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
from tfmesos.journal import BINARY, FLAG, SECONDS, TEXT, Field, RecordCodec, message
from tfmesos.wire import internal_pb2, mesos_pb2

KIND, VERSION = "agent", 1
_COUNT: Field[int] = Field(lambda value: str(value).encode(), int)

CODEC: RecordCodec[Fact] = RecordCodec(
    {
        1: (AgentKept, (message(mesos_pb2.AgentInfo), TEXT, TEXT)),
        2: (ReservationsKept, (message(internal_pb2.CheckpointResourcesMessage),)),
        3: (DrainKept, (message(internal_pb2.DrainSlaveMessage),)),
        10: (FrameworkKept, (message(mesos_pb2.FrameworkInfo),)),
        11: (FrameworkEnding, (TEXT,)),
        12: (FrameworkForgotten, (TEXT,)),
        20: (ExecutorKept, (TEXT, TEXT, message(mesos_pb2.ExecutorInfo), FLAG, FLAG)),
        21: (ExecutorEnding, (TEXT, SECONDS, SECONDS)),
        22: (ExecutorForgotten, (TEXT,)),
        30: (TaskKept, (TEXT, TEXT, message(mesos_pb2.TaskInfo), _COUNT)),
        31: (TaskSent, (TEXT, TEXT)),
        32: (TaskKillAsked, (TEXT, TEXT, SECONDS, SECONDS, FLAG)),
        33: (TaskForgotten, (TEXT, TEXT)),
        40: (UpdateQueued, (message(internal_pb2.StatusUpdate),)),
        41: (UpdateAcknowledged, (TEXT, TEXT, BINARY)),
    }
)
