"""Bytes received from others to messages whose text fields are text.

proto2 does not check text, and protobuf for Python (4.25 to 7, upb) hands out a text field that is not UTF-8 as
`bytes`, which would fail far from here. So such text is mended: what is not UTF-8 becomes U+FFFD; an entry of a map
with such a key goes (protobuf cannot reach it).
"""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError as ProtobufDecodeError
from google.protobuf.message import Message

from tfmesos.wire._fields import is_map, is_repeated, map_value
from tfmesos.wire.errors import DecodeError

if TYPE_CHECKING:
    from tfmesos.wire._shadow import Shadow

M = TypeVar("M", bound=Message)

_WALKED_BELOW = 4096
_WALKS = 100
"""The first short messages are walked (0.1 ms each): a command of a few messages shall not pay for the shadow (20 ms).
All others are only walked if their shadow finds bad text."""


class _TextCheck:
    """Tells which messages need no walk, once it has seen enough of them to pay."""

    def __init__(self) -> None:
        self._walks_left = _WALKS

    def is_clean(self, cls: type[Message], data: bytes) -> bool:
        """Whether all text in `data` is known to be UTF-8."""
        if data.isascii():
            return True
        if self._walks_left and len(data) < _WALKED_BELOW:
            self._walks_left -= 1
            return False
        return _shadow().has_clean_text(cls, data)


_check = _TextCheck()


def decode(cls: type[M], data: bytes) -> M:
    """The message in `data`, required fields not checked (see missing_fields); raises DecodeError for other bytes."""
    try:
        message = cls.FromString(data)
    except (ProtobufDecodeError, UnicodeDecodeError) as error:
        raise DecodeError(f"Failed to parse {cls.DESCRIPTOR.name}: {error}") from error
    if not _check.is_clean(cls, data):
        _mend(message)
    return message


@functools.cache
def _shadow() -> "Shadow":
    from tfmesos.wire._shadow import Shadow  # its imports cost a command-line program more than all its messages do

    return Shadow()


def _mend(message: Message) -> None:
    menders = _menders(message.DESCRIPTOR)
    for field, value in message.ListFields():
        mender = menders.get(field.number)
        if mender is not None:
            mender(message, value)


@functools.cache
def _menders(descriptor: Descriptor) -> dict[int, Callable[[Message, Any], None]]:
    """How to mend the fields of a message that are text or hold messages."""
    return {field.number: mender for field in descriptor.fields if (mender := _mender(field)) is not None}


def _mender(field: FieldDescriptor) -> Callable[[Message, Any], None] | None:
    if is_map(field):
        holds_messages = map_value(field).type == FieldDescriptor.TYPE_MESSAGE
        return functools.partial(_mend_map_of_messages if holds_messages else _mend_map_of_scalars, field.name)
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        return _mend_all if is_repeated(field) else _mend_one
    if field.type == FieldDescriptor.TYPE_STRING:
        return functools.partial(_mend_texts if is_repeated(field) else _mend_text, field.name)
    return None


def _mend_one(message: Message, value: Message) -> None:
    _mend(value)


def _mend_all(message: Message, values: Any) -> None:
    for value in values:
        _mend(value)


def _mend_text(name: str, message: Message, value: Any) -> None:
    if isinstance(value, bytes):
        setattr(message, name, _text(value))


def _mend_texts(name: str, message: Message, values: Any) -> None:
    if any(isinstance(value, bytes) for value in values):
        values[:] = [_text(value) for value in values]


def _mend_map_of_scalars(name: str, message: Message, values: Any) -> None:
    mended = {key: _text(values[key]) for key in values if isinstance(key, str)}
    message.ClearField(name)
    getattr(message, name).update(mended)


def _mend_map_of_messages(name: str, message: Message, values: Any) -> None:
    keys = [key for key in values if isinstance(key, str)]
    for key in keys:
        _mend(values[key])
    if len(keys) == len(values):
        return
    rebuilt = type(message)()
    for key in keys:
        getattr(rebuilt, name)[key].CopyFrom(values[key])
    message.ClearField(name)
    message.MergeFrom(rebuilt)


def _text(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
