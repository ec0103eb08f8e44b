"""Messages out of a stream of records."""

from collections.abc import AsyncIterator, Iterator
from typing import TypeVar

from google.protobuf.message import Message

from tfmesos.transport import HttpStream
from tfmesos.wire import RecordDecoder, decode

M = TypeVar("M", bound=Message)


async def read_messages(stream: HttpStream, kind: type[M]) -> AsyncIterator[Iterator[M]]:
    """Those that came at once, again and again. Raises TransportError, RecordIOError; DecodeError as they are read."""
    decoder = RecordDecoder()
    async for data in stream:
        yield (decode(kind, record) for record in decoder.feed(data))
