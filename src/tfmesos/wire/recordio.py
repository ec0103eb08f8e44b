"""RecordIO: each record is its length in decimal, a newline, and that many bytes (Mesos 1.11: scheduler HTTP API)."""

from tfmesos.wire.errors import RecordIOError

_LIMIT = 64 * 1024 * 1024
_LONGEST_LENGTH = 20
_COMPACT_FROM = 64 * 1024


def encode_record(data: bytes) -> bytes:
    """One record ready to be sent."""
    return b"%d\n%b" % (len(data), data)


class RecordDecoder:
    """Cuts a stream, given in any pieces, into records. After an error the decoder is of no more use."""

    def __init__(self, limit: int = _LIMIT) -> None:
        """Records longer than `limit` bytes are refused before they are stored."""
        self._limit = limit
        self._buffer = bytearray()
        self._offset = 0
        self._length: int | None = None

    def feed(self, data: bytes | bytearray | memoryview) -> list[bytes]:
        """The records that these bytes complete; raises RecordIOError."""
        self._buffer += data
        records = []
        while (record := self._next()) is not None:
            records.append(record)
        self._compact()
        return records

    def _next(self) -> bytes | None:
        if self._length is None:
            self._length = self._read_length()
            if self._length is None:
                return None
        end = self._offset + self._length
        if len(self._buffer) < end:
            return None
        record = bytes(memoryview(self._buffer)[self._offset : end])
        self._offset, self._length = end, None
        return record

    def _read_length(self) -> int | None:
        end = self._buffer.find(b"\n", self._offset, self._offset + _LONGEST_LENGTH + 1)
        text = bytes(
            self._buffer[self._offset : min(self._offset + _LONGEST_LENGTH, len(self._buffer)) if end < 0 else end]
        )
        if end < 0 and len(text) < _LONGEST_LENGTH and (not text or text.isdigit()):
            return None
        if end < 0 or not text.isdigit():
            raise RecordIOError(f"Failed to decode record length {text!r}")
        length = int(text)
        if length > self._limit:
            raise RecordIOError(f"A record of {length} bytes is above the limit of {self._limit}")
        self._offset = end + 1
        return length

    def _compact(self) -> None:
        if self._offset == len(self._buffer):
            self._buffer.clear()
            self._offset = 0
        elif self._offset >= _COMPACT_FROM:
            del self._buffer[: self._offset]
            self._offset = 0
