"""JSON to messages with Mesos' leniency and texts (Mesos 1.11: stout's protobuf::parse)."""

import base64
import functools
import json
import math
import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

from tfmesos.wire._fields import enum_of, is_map, is_repeated, is_required, map_value
from tfmesos.wire.errors import JsonError, JsonSyntaxError

M = TypeVar("M", bound=Message)

_DEEPEST = 100
"""No protobuf parser takes a message with more levels than these; so nobody could be sent it."""

_Read = Callable[[FieldDescriptor, Any], Any]
_INTEGER_BITS = {
    FieldDescriptor.TYPE_INT32: (32, True),
    FieldDescriptor.TYPE_UINT32: (32, False),
    FieldDescriptor.TYPE_INT64: (64, True),
    FieldDescriptor.TYPE_UINT64: (64, False),
}
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/]")
_DOUBLES = (FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT)


class _Unset:
    """The value of a field that stays unset: null, or the unknown name of an optional enum."""


_UNSET = _Unset()


def message_from_json(cls: type[M], data: bytes | str) -> M:
    """The message of a JSON object; raises JsonSyntaxError, or JsonError in Mesos' words."""
    message = cls()
    _fill(message, _object(data), _DEEPEST)
    missing = missing_fields(message)
    if missing is not None:
        raise JsonError(missing)
    return message


def missing_fields(message: Message) -> str | None:
    """`Missing required fields: a, b.c`, or None if nothing required is absent."""
    if message.IsInitialized():
        return None
    errors: list[str] = cast(Any, message).FindInitializationErrors()
    return "Missing required fields: " + ", ".join(errors)


def _object(data: bytes | str) -> dict[str, Any]:
    try:
        value = json.loads(data.decode("utf-8") if isinstance(data, bytes) else data)
    except json.JSONDecodeError as error:
        rest = error.doc[error.pos :].partition("\n")[0]
        raise JsonSyntaxError(f"syntax error at line {error.lineno} near: {rest}") from error
    except (ValueError, RecursionError) as error:
        raise JsonSyntaxError(f"syntax error: {error}") from error
    if not isinstance(value, dict):
        raise JsonError("Expecting a JSON object")
    return value


def _fill(message: Message, values: dict[str, Any], levels: int) -> None:
    if not levels:
        raise JsonError(f"Expecting a message of at most {_DEEPEST} levels")
    readers = _readers(message.DESCRIPTOR)
    for name, value in values.items():
        if value is None or name not in readers:
            continue
        readers[name](message, value, levels)


@functools.cache
def _readers(descriptor: Descriptor) -> dict[str, Callable[[Message, Any, int], None]]:
    return {field.name: functools.partial(_reader(field), field) for field in descriptor.fields}


def _reader(field: FieldDescriptor) -> Callable[[FieldDescriptor, Message, Any, int], None]:
    if is_map(field):
        return _read_map
    return _read_repeated if is_repeated(field) else _read_singular


def _read_singular(field: FieldDescriptor, message: Message, value: Any, levels: int) -> None:
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        part = getattr(message, field.name)
        part.SetInParent()
        _fill(part, _expect_object(field, value), levels - 1)
        return
    read = _read_scalar(field, value)
    if read is not _UNSET:
        _store(field, lambda: setattr(message, field.name, read))


def _read_repeated(field: FieldDescriptor, message: Message, value: Any, levels: int) -> None:
    container = getattr(message, field.name)
    for item in value if isinstance(value, list) else [value]:
        if item is None:
            continue
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            _fill(container.add(), _expect_object(field, item), levels - 1)
            continue
        read = _read_scalar(field, item)
        if read is not _UNSET:
            _store(field, functools.partial(container.append, read))


def _read_map(field: FieldDescriptor, message: Message, value: Any, levels: int) -> None:
    container = getattr(message, field.name)
    of_value = map_value(field)
    for key, item in _expect_object(field, value).items():
        if of_value.type == FieldDescriptor.TYPE_MESSAGE:
            _store(field, functools.partial(container.__getitem__, key))
            _fill(container[key], {} if item is None else _expect_object(of_value, item), levels - 1)
            continue
        read = _read_scalar(of_value, item)
        if read is not _UNSET:
            _store(field, functools.partial(container.__setitem__, key, read))


def _store(field: FieldDescriptor, store: Callable[[], None]) -> None:
    """Carries out an assignment that protobuf may refuse: half a surrogate pair is no text."""
    try:
        store()
    except ValueError as error:
        raise JsonError(f"Not expecting text that is not UTF-8 for field '{field.name}'") from error


def _expect_object(field: FieldDescriptor, value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise _unexpected(field, value)


def _unexpected(field: FieldDescriptor, value: Any) -> JsonError:
    return JsonError(f"Not expecting a JSON {_json_type(value)} for field '{field.name}'")


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def _read_scalar(field: FieldDescriptor, value: Any) -> Any:
    if value is None:
        return _UNSET
    if isinstance(value, (dict, list)):
        raise _unexpected(field, value)
    read: _Read = _SCALARS.get(int(field.type), _read_number)
    return read(field, value)


def _read_text(field: FieldDescriptor, value: Any) -> str:
    if not isinstance(value, str):
        raise _unexpected(field, value)
    return value


def _read_bytes(field: FieldDescriptor, value: Any) -> bytes:
    digits = _read_text(field, value).partition("=")[0]
    wrong = _NOT_BASE64.search(digits)
    if wrong is not None:
        raise JsonError(f"Failed to base64 decode bytes field '{field.name}': Invalid character '{wrong[0]}'")
    if len(digits) % 4 == 1:
        raise JsonError(f"Failed to base64 decode bytes field '{field.name}': Missing characters")
    return base64.b64decode(digits + "=" * (-len(digits) % 4))


def _read_enum(field: FieldDescriptor, value: Any) -> Any:
    name = _read_text(field, value)
    number = _numbers(enum_of(field)).get(name)
    if number is not None:
        return number
    if is_required(field):
        raise JsonError(f"Failed to find enum for '{name}'")
    return _UNSET


@functools.cache
def _numbers(enum: EnumDescriptor) -> dict[str, int]:
    """By name. Not protobuf's own mapping, which fails on text that is not UTF-8."""
    return {value.name: value.number for value in enum.values}


def _read_boolean(field: FieldDescriptor, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise _unexpected(field, value)
    if value not in ("true", "false"):
        raise JsonError(f"Failed to parse '{value}' as a JSON boolean for field '{field.name}'")
    return value == "true"


def _read_number(field: FieldDescriptor, value: Any) -> int | float:
    if isinstance(value, bool):
        raise _unexpected(field, value)
    number = _number_of_text(field, value) if isinstance(value, str) else value
    try:
        return float(number) if field.type in _DOUBLES else _truncated(number, *_INTEGER_BITS[field.type])
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _number_of_text(field: FieldDescriptor, text: str) -> int | float:
    try:
        return float(text) if field.type in _DOUBLES else int(text)
    except ValueError:
        raise JsonError(f"Failed to parse '{text}' as a JSON number for field '{field.name}'") from None


def _truncated(number: int | float, bits: int, signed: bool) -> int:
    """A C cast: towards zero, modulo the width."""
    if isinstance(number, float) and not math.isfinite(number):
        return 0
    wrapped = int(number) & ((1 << bits) - 1)
    return wrapped - (1 << bits) if signed and wrapped >> (bits - 1) else wrapped


_SCALARS: dict[int, _Read] = {
    FieldDescriptor.TYPE_STRING: _read_text,
    FieldDescriptor.TYPE_BYTES: _read_bytes,
    FieldDescriptor.TYPE_ENUM: _read_enum,
    FieldDescriptor.TYPE_BOOL: _read_boolean,
}
