"""Answers that last: the output of a container, with a heartbeat now and then."""

from __future__ import annotations

import asyncio
import contextlib

from aiohttp import HttpVersion11, web

from tfmesos.agent.container_api.media import Answer
from tfmesos.supervision import ConsoleStream
from tfmesos.wire import agent_pb2
from tfmesos.wire.media import encode
from tfmesos.wire.recordio import encode_record

_ProcessIO = agent_pb2.ProcessIO
_STREAMS = {"stdout": _ProcessIO.Data.STDOUT, "stderr": _ProcessIO.Data.STDERR}
_UNREAD_S = 60.0
"""Longer than output is kept for an attachment that takes none: then the container goes on without it."""


class OutputAnswer:
    """One client that is attached to a container's output.

    What it does not read stays with the container (see ConsoleStream) and is never piled up here.
    """

    def __init__(self, answer: Answer, heartbeat_s: float) -> None:
        self._answer = answer
        self._heartbeat_s = heartbeat_s
        self._response = web.StreamResponse(status=200, headers=dict(answer.headers))
        self._writing = asyncio.Lock()

    async def begin(self, request: web.BaseRequest) -> None:
        """Send the head."""
        if request.version >= HttpVersion11:
            self._response.enable_chunked_encoding()
        await self._response.prepare(request)

    async def serve(self, request: web.BaseRequest, console: ConsoleStream) -> web.StreamResponse:
        """Write the output to its end. Raises ConnectionError when the client is gone or reads nothing."""
        beating = asyncio.create_task(self._beat(request), name="heartbeats")
        try:
            async for name, data in console:
                message = _ProcessIO(type=_ProcessIO.DATA)
                message.data.type, message.data.data = _STREAMS[name], data
                await self._send(request, message)
        finally:
            beating.cancel()
            with contextlib.suppress(asyncio.CancelledError, ConnectionError):
                await beating
        return self._response

    async def _beat(self, request: web.BaseRequest) -> None:
        message = _ProcessIO(type=_ProcessIO.CONTROL)
        message.control.type = _ProcessIO.Control.HEARTBEAT
        message.control.heartbeat.interval.nanoseconds = int(self._heartbeat_s * 1e9)
        while True:
            await asyncio.sleep(self._heartbeat_s)
            await self._send(request, message)

    async def _send(self, request: web.BaseRequest, message: agent_pb2.ProcessIO) -> None:
        record = encode_record(encode(message, self._answer.message))
        try:
            async with self._writing, asyncio.timeout(_UNREAD_S):
                await self._response.write(record)
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
            raise ConnectionResetError("the client does not read the output") from None
