"""The v1 operator API: `POST /api/v1` (Mesos 1.11: the order of checks, the texts)."""

import json
from collections.abc import Callable, Iterable, Mapping

from aiohttp import web

from tfmesos.endpoints import (
    TEXT,
    CallRefused,
    DaemonCalls,
    encoded,
    form_of,
    json_page,
    method_refused,
    received_call,
    refused_head,
    whole_reply,
)
from tfmesos.master.core.events import (
    AgentDeactivated,
    AgentDrained,
    AgentMarkedGone,
    AgentReactivated,
    OperatorEvent,
    TornDown,
    WeightsSet,
)
from tfmesos.master.engine import Engine
from tfmesos.master.http.operator_answers import StateAnswers
from tfmesos.master.http.operator_streams import OperatorStreams
from tfmesos.master.ids import AgentId, FrameworkId
from tfmesos.transport import reply
from tfmesos.wire import JsonError, master_pb2, mesos_pb2
from tfmesos.wire.json_codec import dumps, message_from_json
from tfmesos.wire.media import JSON, PROTOBUF, chosen_media

_Call = master_pb2.Call
_Response = master_pb2.Response
_DURATION_END_S = 2**63 // 10**9
"""Mesos' Duration: 64 bits of nanoseconds."""


class OperatorApi:
    """Reads the books and the daemon; what changes something goes to the core."""

    def __init__(
        self, engine: Engine, answers: StateAnswers, daemon_calls: DaemonCalls, streams: OperatorStreams
    ) -> None:
        self._engine = engine
        self._answers = answers
        self._daemon_calls = daemon_calls
        self._streams = streams

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one call; a SUBSCRIBE's answer lasts as long as its stream."""
        if refusal := refused_head(request):
            return refusal
        call = await received_call(request, _Call, "master::Call", _call_error)
        if isinstance(call, web.Response):
            return call
        media = chosen_media(request.headers.get("Accept"))
        if media is None:
            return reply(406, f"Expecting 'Accept' to allow '{PROTOBUF}' or '{JSON}'")
        if call.type == _Call.SUBSCRIBE:
            return await self._streams.subscribe(request, media)
        try:
            return await self._answer(request, call, media)
        except CallRefused as refused:
            return reply(refused.status, refused.text, TEXT)

    async def teardown(self, request: web.BaseRequest) -> web.StreamResponse:
        """`POST /teardown` with `frameworkId=…` in the body."""
        if request.method != "POST":
            return method_refused(request.method, "POST")
        form = await form_of(request)
        if "frameworkId" not in form:
            return reply(400, "Missing 'frameworkId' query parameter in the request body")
        return await self._ask(TornDown(FrameworkId(form["frameworkId"])))

    async def weights(self, request: web.BaseRequest) -> web.StreamResponse:
        """`/weights`: GET tells them, PUT changes those in a list of `{"role": …, "weight": …}`."""
        if request.method == "GET":
            weights = self._engine.books.weights
            return await json_page(request, dumps([{"role": name, "weight": weights[name]} for name in weights]))
        if request.method != "PUT":
            return method_refused(request.method, "GET", "PUT")
        try:
            listed = json.loads(await request.read())
            weights = _weights(message_from_json(mesos_pb2.WeightInfo, json.dumps(one)) for one in _list(listed))
        except (ValueError, RecursionError, JsonError) as error:
            return reply(400, f"Failed to parse update weights request JSON: {error}")
        return await self._ask(WeightsSet(weights))

    async def _answer(self, request: web.BaseRequest, call: _Call, media: str) -> web.StreamResponse:
        if call.type == _Call.SET_LOGGING_LEVEL:
            self._daemon_calls.set_logging_level(call)
            return reply(200)
        if wish := _WISHES.get(call.type):
            return await self._ask(wish(call))
        if media == JSON:
            await self._answers.prepare(call.type)
        name = _Call.Type.Name(call.type)
        response = _Response()
        if name in _Response.Type.DESCRIPTOR.values_by_name:
            response.type = _Response.Type.Value(name)
        if not (await self._daemon_calls.fill(name, call, response) or self._answers.fill(call.type, response)):
            raise CallRefused(501, _not_here(name))
        body = await encoded(response, self._answers.to_json if media == JSON else self._answers.to_protobuf)
        return await whole_reply(request, body, media)

    async def _ask(self, wish: OperatorEvent) -> web.Response:
        """Have the core do what an operator wants; what is answered holds over a loss of power (Mesos 1.11)."""
        answer = self._engine.submit(wish)
        await self._engine.wait_recorded()
        return reply(200) if answer is None else reply(answer.status, answer.text)


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise ValueError("a list of objects with 'role' and 'weight' is wanted")
    return value


def _weights(infos: Iterable[mesos_pb2.WeightInfo]) -> dict[str, float]:
    return {info.role or "*": info.weight for info in infos}


def _drained(call: _Call) -> AgentDrained:
    wish = call.drain_agent
    max_grace_s = None
    if wish.HasField("max_grace_period"):
        max_grace_s = wish.max_grace_period.seconds + wish.max_grace_period.nanos / 1e9
        if not 0 <= max_grace_s < _DURATION_END_S:
            text = f"'max_grace_period' must be from 0 to {_DURATION_END_S:.0f} s, not {max_grace_s:.0f}"
            raise CallRefused(400, f"Failed to validate master::Call: {text}")
    return AgentDrained(AgentId(wish.agent_id.value), max_grace_s, wish.mark_gone)


_WISHES: Mapping[int, Callable[[_Call], OperatorEvent]] = {
    _Call.TEARDOWN: lambda call: TornDown(FrameworkId(call.teardown.framework_id.value)),
    _Call.MARK_AGENT_GONE: lambda call: AgentMarkedGone(AgentId(call.mark_agent_gone.agent_id.value)),
    _Call.DRAIN_AGENT: _drained,
    _Call.DEACTIVATE_AGENT: lambda call: AgentDeactivated(AgentId(call.deactivate_agent.agent_id.value)),
    _Call.UPDATE_WEIGHTS: lambda call: WeightsSet(_weights(call.update_weights.weight_infos)),
    _Call.REACTIVATE_AGENT: lambda call: AgentReactivated(AgentId(call.reactivate_agent.agent_id.value)),
}


def _not_here(name: str) -> str:
    return "501 Not Implemented." if name == "UNKNOWN" else f"{name} is not supported by this master"


def _call_error(call: _Call) -> str | None:
    """What a call lacks: a type, or the message of the same name if there is one."""
    if not call.HasField("type"):
        return "Expecting 'type' to be present"
    name = _Call.Type.Name(call.type).lower()
    if name in _Call.DESCRIPTOR.fields_by_name and not call.HasField(name):  # type: ignore[arg-type]
        return f"Expecting '{name}' to be present"
    return None
