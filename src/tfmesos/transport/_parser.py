"""Reads libprocess messages from the bytes of a connection, until something else comes."""

from dataclasses import dataclass, replace

from tfmesos.transport.message import LibprocessMessage, recognise

HEAD_LIMIT = 64 * 1024
_START = b"POST /"
_CHUNK_LINE_LIMIT = 1024


class MessageError(Exception):
    """A libprocess request with a broken body; nothing after it can be read."""


@dataclass(frozen=True, slots=True)
class _Head:
    message: LibprocessMessage
    length: int | None
    """Bytes of the body; None: it is chunked."""


class MessageParser:
    """Takes bytes in any pieces. Once a request is no libprocess message, `foreign` holds it and all that follows."""

    def __init__(self, body_limit: int) -> None:
        self._body_limit = body_limit
        self._buffer = bytearray()
        self._at = 0
        self._head: _Head | None = None
        self._chunks: list[bytes] = []
        self._chunk_bytes = 0
        self.foreign: bytes | None = None

    def feed(self, data: bytes) -> list[LibprocessMessage]:
        """The messages that are complete now. Raises MessageError."""
        self._buffer += data
        messages = []
        while self.foreign is None and (message := self._next()) is not None:
            messages.append(message)
        del self._buffer[: self._at]
        self._at = 0
        return messages

    def _next(self) -> LibprocessMessage | None:
        if self._head is None and not self._read_head():
            return None
        head = self._head
        assert head is not None
        body = self._read_chunks() if head.length is None else self._read_plain(head.length)
        if body is None:
            return None
        self._head = None
        return replace(head.message, body=body) if body else head.message

    def _read_head(self) -> bool:
        begin = bytes(self._buffer[self._at : self._at + len(_START)])
        if not _START.startswith(begin):
            return self._give_up()
        end = self._buffer.find(b"\r\n\r\n", self._at)
        if end < 0:
            return self._give_up() if len(self._buffer) - self._at > HEAD_LIMIT else False
        self._head = _parse_head(self._buffer[self._at : end].decode("latin-1"))
        if self._head is None:
            return self._give_up()
        self._at = end + 4
        return True

    def _give_up(self) -> bool:
        self.foreign = bytes(self._buffer[self._at :])
        self._at = len(self._buffer)
        return False

    def _read_plain(self, length: int) -> bytes | None:
        self._check_size(length)
        if len(self._buffer) - self._at < length:
            return None
        return self._take(length)

    def _read_chunks(self) -> bytes | None:
        while (size := self._chunk_size()) is not None:
            line_end = self._buffer.find(b"\r\n", self._at)
            if len(self._buffer) < line_end + 2 + size + 2:
                return None
            self._at = line_end + 2
            chunk = self._take(size)
            if self._take(2) != b"\r\n":
                raise MessageError("a chunk does not end where it says, or has trailers")
            if not size:
                return self._joined()
            self._chunks.append(chunk)
            self._chunk_bytes += size
        return None

    def _chunk_size(self) -> int | None:
        line_end = self._buffer.find(b"\r\n", self._at, self._at + _CHUNK_LINE_LIMIT)
        if line_end < 0:
            if len(self._buffer) - self._at >= _CHUNK_LINE_LIMIT:
                raise MessageError("the line of a chunk is too long")
            return None
        text = bytes(self._buffer[self._at : line_end]).partition(b";")[0].strip()
        if not text or text.strip(b"0123456789abcdefABCDEF"):
            raise MessageError(f"chunk length {text!r} is none")
        size = int(text, 16)
        self._check_size(self._chunk_bytes + size)
        return size

    def _check_size(self, size: int) -> None:
        if size > self._body_limit:
            raise MessageError(f"a body of {size} bytes is longer than the {self._body_limit} allowed")

    def _take(self, count: int) -> bytes:
        begin, self._at = self._at, self._at + count
        return bytes(self._buffer[begin : self._at])

    def _joined(self) -> bytes:
        body = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks = []
        self._chunk_bytes = 0
        return body


def _parse_head(text: str) -> _Head | None:
    """None for what is no libprocess message or has a framing that only a full HTTP parser should judge."""
    request_line, *lines = text.split("\r\n")
    words = request_line.split(" ")
    if len(words) != 3 or words[2] != "HTTP/1.1":
        return None
    fields: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or name.lower() in fields:
            return None
        fields[name.lower()] = value.strip()
    message = recognise(words[0], words[1], fields.get("libprocess-from"), fields.get("user-agent"))
    if message is None or "expect" in fields or "content-encoding" in fields:
        return None
    return _framed(message, fields.get("transfer-encoding"), fields.get("content-length"))


def _framed(message: LibprocessMessage, encoding: str | None, length: str | None) -> _Head | None:
    if encoding is not None:
        return _Head(message, None) if encoding.lower() == "chunked" and length is None else None
    if length is None:
        return _Head(message, 0)
    return _Head(message, int(length)) if length.isascii() and length.isdigit() and len(length) < 20 else None
