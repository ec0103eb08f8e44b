"""The heads of streaming requests and answers (Mesos 1.11: src/slave/http.cpp, operator-http-api.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aiohttp import web

from tfmesos.endpoints import RECORDIO
from tfmesos.transport import reply
from tfmesos.wire import agent_pb2
from tfmesos.wire.media import JSON, PROTOBUF, chosen_media, is_accepted

_Call = agent_pb2.Call
_STREAMING = (_Call.LAUNCH_NESTED_CONTAINER_SESSION, _Call.ATTACH_CONTAINER_OUTPUT)
_BOTH = f"{JSON} or {PROTOBUF}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How an answer that lasts is written: RecordIO in any case."""

    message: str
    """The medium of each record."""
    headers: Mapping[str, str]


def refused_request(request: web.BaseRequest, call_type: _Call.Type.ValueType) -> web.Response | None:
    """Why the headers do not fit a call that came in a plain body; None if they do."""
    name = _Call.Type.Name(call_type)
    if call_type == _Call.ATTACH_CONTAINER_INPUT:
        return reply(415, f"Expecting 'Content-Type' to be {RECORDIO} for {name} call")
    if "Message-Content-Type" in request.headers:
        return reply(415, "Expecting 'Message-Content-Type' to be not set for non-streaming requests")
    accept = request.headers.get("Accept")
    is_plain = chosen_media(accept) is not None
    if not is_plain and not is_accepted(RECORDIO, accept):
        return reply(406, f"Expecting 'Accept' to allow {_BOTH} or {RECORDIO}")
    if is_plain and "Message-Accept" in request.headers:
        return reply(406, "Expecting 'Message-Accept' to be not set for non-streaming responses")
    if not is_plain and call_type not in _STREAMING:
        return reply(406, f"Streaming response is not supported for {name} call")
    return None


def chosen_answer(request: web.BaseRequest) -> Answer | web.Response:
    """The medium of a lasting answer, or why there is none."""
    plain = chosen_media(request.headers.get("Accept"))
    if plain is not None:
        return Answer(message=plain, headers={"Content-Type": plain})
    message = chosen_media(request.headers.get("Message-Accept"))
    if message is None:
        return reply(406, f"Expecting 'Message-Accept' to allow {_BOTH}")
    return Answer(message=message, headers={"Content-Type": RECORDIO, "Message-Content-Type": message})


def message_medium(request: web.BaseRequest) -> str | web.Response:
    """The medium of the records of a streaming request, or why there is none."""
    medium = request.headers.get("Message-Content-Type")
    if medium is None:
        return reply(400, "Expecting 'Message-Content-Type' to be set for streaming requests")
    if medium not in (JSON, PROTOBUF):
        return reply(415, f"Expecting 'Message-Content-Type' of {_BOTH}")
    return medium
