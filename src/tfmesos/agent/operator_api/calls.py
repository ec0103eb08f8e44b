"""The v1 operator API of the agent: `POST /api/v1` (Mesos 1.11: the order of checks, the texts)."""

from __future__ import annotations

from typing import Protocol

from aiohttp import web

from tfmesos.agent.container_api.media import refused_request
from tfmesos.agent.operator_api.answers import StateAnswers, response_json
from tfmesos.endpoints import (
    RECORDIO,
    TEXT,
    CallRefused,
    DaemonCalls,
    encoded,
    received_call,
    refused_head,
    whole_reply,
)
from tfmesos.transport import reply
from tfmesos.wire import agent_pb2
from tfmesos.wire.media import JSON, chosen_media

_Call = agent_pb2.Call
_Response = agent_pb2.Response
_OPTIONAL_BODIES = ("get_containers", "prune_images")
_MEASURING = (_Call.GET_CONTAINERS, _Call.GET_METRICS)


class ContainerCalls(Protocol):
    """The calls about containers, after the checks that all calls share."""

    def answers(self, call_type: _Call.Type.ValueType) -> bool:
        """Whether calls of this type are about containers."""

    async def handle(self, call: agent_pb2.Call, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a call that came whole."""

    async def handle_stream(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request whose body is a stream of records (Content-Type application/recordio)."""


class OperatorApi:
    """Answers calls from what the agent knows; those about containers are answered by `containers`."""

    def __init__(self, answers: StateAnswers, daemon_calls: DaemonCalls, containers: ContainerCalls) -> None:
        self._answers = answers
        self._daemon_calls = daemon_calls
        self._containers = containers

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one call."""
        if refusal := refused_head(request, RECORDIO):
            return refusal
        if request.headers["Content-Type"] == RECORDIO:
            return await self._containers.handle_stream(request)
        call = await received_call(request, _Call, "agent::Call", _fault)
        if isinstance(call, web.Response):
            return call
        try:
            return await self._answer(request, call)
        except CallRefused as refused:
            return reply(refused.status, refused.text, TEXT)

    async def _answer(self, request: web.BaseRequest, call: agent_pb2.Call) -> web.StreamResponse:
        if self._containers.answers(call.type):
            return await self._containers.handle(call, request)
        if refusal := refused_request(request, call.type):
            return refusal
        media = chosen_media(request.headers.get("Accept"))
        assert media is not None
        if call.type == _Call.SET_LOGGING_LEVEL:
            self._daemon_calls.set_logging_level(call)
            return reply(200)
        if call.type == _Call.PRUNE_IMAGES:
            await self._answers.prune_images(call.prune_images.excluded_images)
            return reply(200)
        if call.type in _MEASURING:
            await self._answers.refresh_usage()
        response = _response(call)
        name = _Call.Type.Name(call.type)
        if not (await self._daemon_calls.fill(name, call, response) or self._answers.fill(call, response)):
            raise CallRefused(501, "501 Not Implemented." if name == "UNKNOWN" else f"{name} is not supported here")
        body = await encoded(response, response_json if media == JSON else _Response.SerializeToString)
        return await whole_reply(request, body, media)


def _response(call: agent_pb2.Call) -> agent_pb2.Response:
    name = _Call.Type.Name(call.type)
    response = _Response()
    if name in _Response.Type.DESCRIPTOR.values_by_name:
        response.type = _Response.Type.Value(name)
    return response


def _fault(call: agent_pb2.Call) -> str | None:
    """What a call lacks: a type, or the message of the same name if there is one."""
    if not call.HasField("type"):
        return "Expecting 'type' to be present"
    name = _Call.Type.Name(call.type).lower()
    if name in _Call.DESCRIPTOR.fields_by_name and name not in _OPTIONAL_BODIES and not call.HasField(name):  # type: ignore[arg-type]
        return f"Expecting '{name}' to be present"
    return None
