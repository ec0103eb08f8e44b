"""ATTACH_CONTAINER_INPUT: a request that lasts; its records are calls, the first of which names the container."""

from __future__ import annotations

from collections.abc import AsyncIterator

from aiohttp import web

from tfmesos.supervision import ConsoleStream
from tfmesos.wire import agent_pb2
from tfmesos.wire.errors import BadBody, RecordIOError
from tfmesos.wire.media import read_call
from tfmesos.wire.recordio import RecordDecoder

_Attach = agent_pb2.Call.AttachContainerInput
_ProcessIO = agent_pb2.ProcessIO
_LONGEST_RECORD = 4 * 1024 * 1024


class BadInput(Exception):
    """What came is no input; the text goes to the client with status 400."""


async def read_calls(request: web.BaseRequest, medium: str) -> AsyncIterator[agent_pb2.Call]:
    """The calls of a streaming request. Raises BadInput."""
    decoder = RecordDecoder(_LONGEST_RECORD)
    async for data in request.content.iter_any():
        try:
            for record in decoder.feed(data):
                yield read_call(agent_pb2.Call, medium, record)
        except (RecordIOError, BadBody) as error:
            raise BadInput(str(error)) from error


async def write_input(calls: AsyncIterator[agent_pb2.Call], console: ConsoleStream) -> None:
    """Hand to the container what the calls hold, until they end. Raises BadInput."""
    async for call in calls:
        attach = call.attach_container_input
        if call.type != agent_pb2.Call.ATTACH_CONTAINER_INPUT or attach.type != _Attach.PROCESS_IO:
            raise BadInput("Expecting 'attach_container_input.type' to be PROCESS_IO after the first record")
        if not attach.HasField("process_io"):
            raise BadInput("Expecting 'attach_container_input.process_io' to be present")
        await _write(attach.process_io, console)


async def _write(message: agent_pb2.ProcessIO, console: ConsoleStream) -> None:
    if message.type == _ProcessIO.DATA:
        if message.data.type != _ProcessIO.Data.STDIN:
            raise BadInput("Expecting 'process_io.data.type' to be STDIN")
        if message.data.data:
            await console.write_stdin(message.data.data)
        else:
            await console.close_stdin()
    elif message.type == _ProcessIO.CONTROL and message.control.type == _ProcessIO.Control.TTY_INFO:
        size = message.control.tty_info.window_size
        await console.resize(size.rows, size.columns)


def container_of(call: agent_pb2.Call) -> agent_pb2.Call:
    """The first call of a stream as it came, if it names a container; BadInput otherwise."""
    attach = call.attach_container_input
    if call.type != agent_pb2.Call.ATTACH_CONTAINER_INPUT:
        name = agent_pb2.Call.Type.Name(call.type)
        raise BadInput(f"Streaming 'Content-Type' application/recordio is not supported for {name} call")
    if attach.type != _Attach.CONTAINER_ID or not attach.HasField("container_id"):
        raise BadInput("Expecting 'attach_container_input.container_id' to be present in the first record")
    return call
