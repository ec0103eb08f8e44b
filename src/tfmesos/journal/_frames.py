"""How records lie in the file."""

from dataclasses import dataclass, field
from struct import Struct
from zlib import crc32

_MARK = b"\xabTFJ"
_LENGTH = Struct("!I")
_HEAD = Struct("!4sII")
MAX_RECORD = 256 << 20


def encode_frame(record: bytes) -> bytes:
    """The record as it is written; ValueError if it is too large."""
    if len(record) > MAX_RECORD:
        raise ValueError(f"a record of {len(record)} bytes; at most {MAX_RECORD} are allowed")
    return _HEAD.pack(_MARK, len(record), _checksum(record)) + record


@dataclass(slots=True)
class Frames:
    """What was found: the records, where the good part ends, and the places that are damaged before it."""

    records: list[bytes] = field(default_factory=list)
    end: int = 0
    damaged: list[int] = field(default_factory=list)


def decode_frames(data: bytes, start: int) -> Frames:
    """Read frames from `start` on. What no intact frame follows is a torn end, not damage."""
    frames = Frames(end=start)
    offset = start
    while offset < len(data):
        record = _record_at(data, offset)
        if record is None:
            found = _next_intact(data, offset + 1)
            if found is None:
                break
            frames.damaged.append(offset)
            offset = found
            continue
        frames.records.append(record)
        offset += _HEAD.size + len(record)
        frames.end = offset
    return frames


def _next_intact(data: bytes, offset: int) -> int | None:
    while (offset := data.find(_MARK, offset)) >= 0:
        if _record_at(data, offset) is not None:
            return offset
        offset += 1
    return None


def _record_at(data: bytes, offset: int) -> bytes | None:
    """The record of an intact frame that begins here."""
    begin = offset + _HEAD.size
    if begin > len(data):
        return None
    mark, length, checksum = _HEAD.unpack_from(data, offset)
    if mark != _MARK or begin + length > len(data):
        return None
    record = data[begin : begin + length]
    return record if _checksum(record) == checksum else None


def _checksum(record: bytes) -> int:
    return crc32(record, crc32(_LENGTH.pack(len(record))))
