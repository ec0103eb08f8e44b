"""Messages to JSON (Mesos 1.11: stout's jsonify of a protobuf)."""

import base64
import functools
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from tfmesos.wire._fields import enum_of, is_map, is_repeated, map_value

_Write = Callable[[Any], Any]
_encoder = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False)


class _Field(NamedTuple):
    """How one field is written: `write` converts a set value, `default` stands for an unset one if it is to appear."""

    number: int
    name: str
    write: _Write | None
    default: Any


def message_to_json(message: Message) -> bytes:
    """The message as Mesos would write it, in UTF-8."""
    return dumps(message_to_dict(message))


def message_to_dict(message: Message) -> dict[str, Any]:
    """The message as an object: fields that are set or have an explicit default, in the order of their declaration."""
    values = {field.number: value for field, value in message.ListFields()}
    written: dict[str, Any] = {}
    for number, name, write, default in _fields(message.DESCRIPTOR):
        if number in values:
            value = values[number]
            written[name] = write(value) if write is not None else value
        elif default is not None:
            written[name] = default
    return written


def dumps(value: Any) -> bytes:
    """JSON in Mesos' style: no blanks, doubles keep a fraction, `Infinity` and `NaN` as bare words, UTF-8 as it is."""
    return _encoder.encode(value).encode("utf-8", "replace")


@functools.cache
def _fields(descriptor: Descriptor) -> tuple[_Field, ...]:
    return tuple(_Field(field.number, field.name, _writer(field), _default(field)) for field in descriptor.fields)


def _default(field: FieldDescriptor) -> Any:
    """What an unset field shows: its explicit default unless it is deprecated."""
    if not field.has_default_value or field.GetOptions().deprecated:
        return None
    write = _writer_of_one(field)
    return write(field.default_value) if write is not None else field.default_value


def _writer(field: FieldDescriptor) -> _Write | None:
    """The conversion of a set value, or None if JSON takes it as it is."""
    if is_map(field):
        write = _writer_of_one(map_value(field))
        return functools.partial(_write_map, write or _same)
    write = _writer_of_one(field)
    return functools.partial(_write_list, write or _same) if is_repeated(field) else write


def _writer_of_one(field: FieldDescriptor) -> _Write | None:
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        return message_to_dict
    if field.type == FieldDescriptor.TYPE_BYTES:
        return _write_bytes
    if field.type == FieldDescriptor.TYPE_ENUM:
        return {value.number: value.name for value in enum_of(field).values}.__getitem__
    return None


def _same(value: Any) -> Any:
    return value


def _write_bytes(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def _write_list(write: _Write, values: Any) -> list[Any]:
    return [write(value) for value in values]


def _write_map(write: _Write, values: Any) -> dict[str, Any]:
    return {str(key): write(value) for key, value in values.items()}
