"""The Call of a scheduler driver (v0): all its numbers are those of v1 but the ones in Subscribe (Mesos 1.11)."""

from collections.abc import Iterator

from tfmesos.wire import scheduler_pb2
from tfmesos.wire.decoding import decode
from tfmesos.wire.errors import DecodeError

_SUBSCRIBE = scheduler_pb2.Call.DESCRIPTOR.fields_by_name["subscribe"].number
_FORCE = 2
_V1_NUMBERS = {1: 1, 3: 2, 4: 3}
"""framework_info, suppressed_roles, offer_constraints."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_VARINT_BYTES = 10


def decode_driver_call(data: bytes) -> tuple[scheduler_pb2.Call, bool]:
    """The call as v1 has it, and whether its SUBSCRIBE takes over from another scheduler; raises DecodeError."""
    parts, is_forced = [], False
    for number, kind, value in _fields(data):
        if number == _SUBSCRIBE and kind == _BYTES:
            value, is_forced = _to_v1(value)
        parts.append(_field(number, kind, value))
    return decode(scheduler_pb2.Call, b"".join(parts)), is_forced


def _to_v1(subscribe: bytes) -> tuple[bytes, bool]:
    parts, is_forced = [], False
    for number, kind, value in _fields(subscribe):
        if number == _FORCE:
            is_forced = kind == _VARINT and value != b"\x00"
        elif number in _V1_NUMBERS:
            parts.append(_field(_V1_NUMBERS[number], kind, value))
    return b"".join(parts), is_forced


def _fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Number, wire type and raw value of each field, in order."""
    offset = 0
    while offset < len(data):
        tag, offset = _read_varint(data, offset)
        kind, start = tag & 7, offset
        if kind == _VARINT:
            _, offset = _read_varint(data, offset)
        elif kind == _BYTES:
            length, start = _read_varint(data, offset)
            offset = start + length
        elif kind in (_FIXED32, _FIXED64):
            offset += 4 if kind == _FIXED32 else 8
        else:
            raise DecodeError(f"Failed to parse Call: wire type {kind}")
        if offset > len(data):
            raise DecodeError("Failed to parse Call: it is cut off")
        yield tag >> 3, kind, data[start:offset]


def _field(number: int, kind: int, value: bytes) -> bytes:
    length = _varint(len(value)) if kind == _BYTES else b""
    return _varint(number << 3 | kind) + length + value


def _read_varint(data: bytes, offset: int) -> tuple[int, int]:
    value = 0
    for position in range(_MAX_VARINT_BYTES):
        if offset + position >= len(data):
            break
        byte = data[offset + position]
        value |= (byte & 0x7F) << (7 * position)
        if byte < 0x80:
            return value, offset + position + 1
    raise DecodeError("Failed to parse Call: it is cut off")


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
