"""Records of a journal as frozen dataclasses: one form per class, under a number that is never used again.

1 byte number, then for each field: 4 bytes length (ffffffff: None), the field's bytes
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from struct import Struct
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")
M = TypeVar("M", bound="Message")
_LENGTH = Struct("!I")
_NONE = 0xFFFFFFFF


class Message(Protocol):
    """A message that makes its own bytes, as protobuf's do."""

    def SerializeToString(self) -> bytes: ...

    @classmethod
    def FromString(cls: type[M], s: bytes, /) -> M: ...


@dataclass(frozen=True, slots=True)
class Field(Generic[T]):
    """How a field becomes bytes and is read again; None is written by itself."""

    encode: Callable[[T], bytes]
    decode: Callable[[bytes], T]


TEXT: Field[str] = Field(str.encode, bytes.decode)
BINARY: Field[bytes] = Field(bytes, bytes)
SECONDS: Field[float] = Field(lambda value: repr(float(value)).encode(), float)
FLAG: Field[bool] = Field(lambda value: b"1" if value else b"0", lambda data: data == b"1")


def message(cls: type[M]) -> Field[M]:
    """A field that holds such a message."""
    return Field(lambda value: value.SerializeToString(), cls.FromString)


class RecordCodec(Generic[T]):
    """Writes and reads the records of one journal."""

    def __init__(self, forms: Mapping[int, tuple[type[T], tuple[Field[Any], ...]]]) -> None:
        """`forms`: by number (1…255) a dataclass and its fields, in order. Fields added later need a default."""
        self._forms = dict(forms)
        self._numbers = {cls: number for number, (cls, _) in forms.items()}
        self._names = {cls: tuple(field.name for field in fields(cls)) for cls, _ in forms.values()}  # type: ignore[arg-type]
        for cls, its_fields in forms.values():
            assert len(self._names[cls]) == len(its_fields), cls

    def encode(self, record: T) -> bytes:
        """The record's bytes."""
        cls = type(record)
        number = self._numbers[cls]
        parts = [bytes((number,))]
        for name, field in zip(self._names[cls], self._forms[number][1], strict=True):
            value = getattr(record, name)
            if value is None:
                parts.append(_LENGTH.pack(_NONE))
                continue
            data = field.encode(value)
            parts += (_LENGTH.pack(len(data)), data)
        return b"".join(parts)

    def decode(self, data: bytes) -> T:
        """The record of these bytes; ValueError for what is none."""
        form = self._forms.get(data[0]) if data else None
        if form is None:
            raise ValueError(f"a record of an unknown kind ({data[:1].hex() or 'empty'})")
        cls, its_fields = form
        values: dict[str, Any] = {}
        offset = 1
        try:
            for name, field in zip(self._names[cls], its_fields, strict=True):
                if offset == len(data):
                    break  # written before this field was invented
                (length,) = _LENGTH.unpack_from(data, offset)
                offset += _LENGTH.size
                if length == _NONE:
                    values[name] = None
                    continue
                if offset + length > len(data):
                    raise ValueError(f"{name} is cut off")
                values[name] = field.decode(data[offset : offset + length])
                offset += length
            return cls(**values)
        except Exception as error:  # a message's own errors are as many as there are ways to make one
            raise ValueError(f"a {cls.__name__} that cannot be read: {error}") from error
