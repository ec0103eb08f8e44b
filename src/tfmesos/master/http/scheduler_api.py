"""The v1 scheduler API over HTTP: the checks in Mesos' order, then the core (Mesos 1.11)."""

import uuid

from aiohttp import web

from tfmesos.endpoints import received_call, refused_head
from tfmesos.master.core.events import Called, Subscribed
from tfmesos.master.engine import Engine, Subscriber
from tfmesos.master.ids import FrameworkId, StreamId
from tfmesos.master.validation import call_error
from tfmesos.transport import StreamReply, reply
from tfmesos.wire import scheduler_pb2
from tfmesos.wire.media import JSON, PROTOBUF, chosen_media

_Call = scheduler_pb2.Call
_STREAM_ID = "Mesos-Stream-Id"
STREAM_LIMIT = 16 * 1024 * 1024
"""Bytes that a subscriber may leave unread before it is dropped."""


class SchedulerApi:
    """`POST /api/v1/scheduler`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one call; a SUBSCRIBE's answer lasts as long as its stream."""
        if refusal := refused_head(request):
            return refusal
        call = await received_call(request, _Call, "scheduler::Call", call_error)
        if isinstance(call, web.Response):
            return call
        if call.type not in (_Call.SUBSCRIBE, _Call.RECONCILE_OPERATIONS):
            return self._call(request, call)
        media = chosen_media(request.headers.get("Accept"))
        if media is None:
            return reply(406, f"Expecting 'Accept' to allow '{PROTOBUF}' or '{JSON}'")
        if call.type == _Call.SUBSCRIBE:
            return await self._subscribe(request, call, media)
        return self._call(request, call)

    async def _subscribe(self, request: web.BaseRequest, call: _Call, media: str) -> web.StreamResponse:
        if _STREAM_ID in request.headers:
            return reply(400, f"Subscribe calls should not include the '{_STREAM_ID}' header")
        stream_id = StreamId(str(uuid.uuid4()))
        stream = StreamReply(media, {_STREAM_ID: stream_id}, limit=STREAM_LIMIT)
        self._engine.add_stream(stream_id, Subscriber(stream, media))
        try:
            self._engine.submit(Subscribed(stream_id, call.subscribe))
            return await stream.serve(request)
        finally:
            self._engine.drop_stream(stream_id)

    def _call(self, request: web.BaseRequest, call: _Call) -> web.Response:
        framework_id = FrameworkId(call.framework_id.value)
        if refusal := self._refused_stream(framework_id, request.headers.get(_STREAM_ID)):
            return refusal
        answer = self._engine.submit(Called(framework_id, call))
        return reply(202) if answer is None else reply(answer.status, answer.text)

    def _refused_stream(self, framework_id: FrameworkId, stream_id: str | None) -> web.Response | None:
        framework = self._engine.books.frameworks.get(framework_id)
        if framework is None:
            return reply(400, "Framework cannot be found")
        if not framework.is_connected:
            return reply(403, "Framework is not subscribed")
        if framework.pid:
            return reply(403, "Framework is not connected via HTTP")
        if stream_id is None:
            return reply(400, f"All non-subscribe calls should include the '{_STREAM_ID}' header")
        if stream_id != framework.stream_id:
            return reply(
                400,
                f"The stream ID '{stream_id}' included in this request didn't match the stream ID currently "
                f"associated with framework ID {framework_id}",
            )
        return None
