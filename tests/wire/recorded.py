"""The recordings of stock Mesos 1.11 in tests/golden/transcripts: what their files hold."""

import re
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from tfmesos.wire import agent_pb2, executor_pb2, master_pb2, scheduler_pb2
from tfmesos.wire.names import message_class

TRANSCRIPTS = Path(__file__).parents[1] / "golden" / "transcripts"

_NAME = re.compile(r"\d+-(?P<sender>[a-z]+)(-\d)?-to-(?P<receiver>[a-z]+)(-\d)?-(?P<kind>.+)")
_CANDIDATES: dict[tuple[str, str], tuple[Any, ...]] = {
    ("scheduler", "master"): (scheduler_pb2.Call,),
    ("master", "scheduler"): (scheduler_pb2.Event,),
    ("executor", "agent"): (executor_pb2.Call, agent_pb2.Call),
    ("agent", "executor"): (executor_pb2.Event,),
    ("client", "master"): (master_pb2.Call, scheduler_pb2.Call),
    ("master", "client"): (master_pb2.Event,),
    ("client", "agent"): (agent_pb2.Call,),
}


def sender_of(path: Path) -> str:
    """Who sent what a file holds: master, agent, scheduler, executor or client."""
    match = _NAME.fullmatch(path.stem)
    assert match is not None, path
    return match["sender"]


def type_of(path: Path) -> type[Message] | None:
    """What a body is, from who speaks to whom and the type of the call, event or message in the file's name."""
    match = _NAME.fullmatch(path.stem)
    assert match is not None, path
    sender, receiver, kind = match["sender"], match["receiver"], match["kind"]
    if kind.endswith("Message"):
        return message_class(f"mesos.internal.{kind}")
    if kind.startswith("200-"):
        response: Any = master_pb2.Response if sender == "master" else agent_pb2.Response
        return response if kind[4:] in response.Type.keys() else None  # noqa: SIM118
    return next((cls for cls in _CANDIDATES.get((sender, receiver), ()) if kind in cls.Type.keys()), None)  # noqa: SIM118
