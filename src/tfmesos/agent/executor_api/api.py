"""`POST /api/v1/executor`: the checks in Mesos' order, then the core (Mesos 1.11: src/slave/http.cpp)."""

from __future__ import annotations

from aiohttp import web

from tfmesos.agent.core import ExecutorRecord, Phase
from tfmesos.agent.executor_api.streams import ExecutorStreams
from tfmesos.agent.executor_api.validation import call_fault
from tfmesos.agent.runner.runner import Runner
from tfmesos.endpoints import received_call, refused_head
from tfmesos.transport import reply
from tfmesos.wire import executor_pb2
from tfmesos.wire.media import JSON, PROTOBUF, chosen_media

NOT_RECOVERED = "Agent has not finished recovery"
_Call = executor_pb2.Call


class ExecutorApi:
    """Answers the calls of executors."""

    def __init__(self, runner: Runner, streams: ExecutorStreams) -> None:
        self._runner = runner
        self._streams = streams

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one call; a SUBSCRIBE's answer lasts as long as its stream.

        Updates are taken as soon as their executor has subscribed, also while others are still awaited (Mesos 1.11:
        503 until all recovery is over, and the executor would have to keep them).
        """
        if not self._runner.knows_executors:
            return reply(503, NOT_RECOVERED)
        if refusal := refused_head(request):
            return refusal
        call = await received_call(request, _Call, "Executor::Call", call_fault)
        if isinstance(call, web.Response):
            return call
        media = chosen_media(request.headers.get("Accept"))
        if call.type == _Call.SUBSCRIBE and media is None:
            return reply(406, f"Expecting 'Accept' to allow '{PROTOBUF}' or '{JSON}'")
        if call.type == _Call.HEARTBEAT:
            return reply(202)
        executor = self._find(call)
        if not isinstance(executor, ExecutorRecord):
            return executor
        if call.type == _Call.SUBSCRIBE:
            assert media is not None
            return await self._subscribe(request, executor, call.subscribe, media)
        return self._call(executor, call)

    def _find(self, call: executor_pb2.Call) -> ExecutorRecord | web.Response:
        framework = self._runner.core.frameworks.get(call.framework_id.value)
        if framework is None:
            return reply(400, "Framework cannot be found")
        executor = framework.executors.get(call.executor_id.value)
        if executor is None:
            return reply(400, "Executor cannot be found")
        if executor.phase is Phase.REGISTERING and call.type != _Call.SUBSCRIBE:
            return reply(403, "Executor is not subscribed")
        return executor

    def _call(self, executor: ExecutorRecord, call: executor_pb2.Call) -> web.Response:
        if call.type == _Call.UPDATE:
            self._runner.updated(executor, call.update.status)
        elif call.type == _Call.MESSAGE:
            self._runner.messaged(executor, call.message.data)
        else:
            return reply(501, "501 Not Implemented.")
        return reply(202)

    async def _subscribe(
        self, request: web.BaseRequest, executor: ExecutorRecord, call: executor_pb2.Call.Subscribe, media: str
    ) -> web.StreamResponse:
        stream = self._streams.open(executor.container_id, media)
        try:
            self._runner.subscribed(executor, call)
            return await stream.reply.serve(request)
        finally:
            if self._streams.lost(executor.container_id, stream):
                self._runner.stream_lost(executor)
