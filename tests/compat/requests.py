"""The bytes of a recorded request with ids of ours."""

from collections.abc import Callable
from pathlib import Path

from google.protobuf.message import Message

from tests.compat.identities import Identities
from tests.compat.recording import Row
from tests.wire.recorded import type_of
from tfmesos.wire import DecodeError, decode


def request_bytes(row: Row, identities: Identities, change: Callable[[Message], None] | None = None) -> bytes:
    """The request of a row as recorded, ids replaced, framing kept (one chunk where it was chunked).

    `change` may change the message before it is sent.
    """
    recorded = row.read(".http")
    assert recorded is not None, row
    head, _, body = recorded.partition(b"\r\n\r\n")
    lines = [identities.put_into(line) for line in head.decode("latin-1").split("\r\n")]
    is_chunked = any(line.lower().replace(" ", "") == "transfer-encoding:chunked" for line in lines)
    content = _content(row, identities, change)
    if content is not None and not is_chunked:
        lines = [f"Content-Length: {len(content)}" if _is_length(line) else line for line in lines]
    new_head = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
    if content is None:
        return new_head + body
    return new_head + (b"%x\r\n%b\r\n0\r\n\r\n" % (len(content), content) if is_chunked else content)


def _is_length(line: str) -> bool:
    return line.lower().startswith("content-length:")


def _content(row: Row, identities: Identities, change: Callable[[Message], None] | None) -> bytes | None:
    """The body with our ids, or None if there is none that could hold ids."""
    path = row.body_path(".json")
    if path is not None:
        return identities.put_into(path.read_text()).encode()
    path = row.body_path(".bin")
    return _message(path, identities, change) if path is not None else None


def _message(path: Path, identities: Identities, change: Callable[[Message], None] | None) -> bytes:
    data, cls = path.read_bytes(), type_of(path)
    if cls is None:
        return data
    try:
        message = decode(cls, data)
    except DecodeError:
        return data
    identities.put_into_message(message)
    if change is not None:
        change(message)
    return message.SerializeToString()
