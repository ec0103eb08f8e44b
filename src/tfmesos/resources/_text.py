"""The text grammar of `--resources` and `--attributes` (Mesos 1.11)."""

import json
import re
from typing import Any

from tfmesos.resources._entry import DYNAMIC, RANGES, SCALAR, SET, STATIC, Amount, Entry, Key, Reservation, key_text
from tfmesos.resources._formats import entry_of, is_representable, thousandths
from tfmesos.resources._ranges import Ranges
from tfmesos.resources.errors import ResourcesError
from tfmesos.wire import mesos_pb2
from tfmesos.wire.json_codec import JsonError, message_from_json

_BRACKETS = ("{}", "[]", "()")
_NUMBER_LENGTH = 64
"""Digits, leading zeros included, that are looked at: Python refuses to read thousands."""


def parse_entries(text: str, default_role: str) -> list[Entry]:
    """The entries of a text or of a JSON array of Resource objects; raises ResourcesError."""
    entries = _json_entries(text, default_role) if text.lstrip().startswith("[") else _text_entries(text, default_role)
    kinds: dict[str, int] = {}
    for entry in entries:
        name, kind = entry.key.name, entry.key.kind
        if kinds.setdefault(name, kind) != kind:
            raise ResourcesError(f"Resources with the same name ('{name}') but different types are not allowed")
        _check_allowed(entry.key)
    return entries


def _check_allowed(key: Key) -> None:
    """Refuses what only a program may say (Mesos 1.11: Resources::parse)."""
    if any(reservation.type == DYNAMIC for reservation in key.reservations):
        raise ResourcesError(f"Dynamic reservations cannot be specified in resources: {key_text(key)}")
    if key.revocable:
        raise ResourcesError(f"Revocable resources cannot be specified in resources: {key_text(key)}")
    if key.disk and mesos_pb2.Resource.DiskInfo.FromString(key.disk).HasField("persistence"):
        raise ResourcesError(f"Persistent volumes cannot be specified in resources: {key_text(key)}")


def parse_attributes(text: str) -> list[mesos_pb2.Attribute]:
    """The attributes of `rack:r1;zone:[1-2];speed:2.5`; entries end at `;` or a newline, the first `:` separates."""
    return [_attribute(token) for token in re.split(r"[;\n]", text) if token.strip()]


def _attribute(token: str) -> mesos_pb2.Attribute:
    name, colon, value = token.partition(":")
    name = name.strip()
    if not colon or not name or not value.strip():
        raise ResourcesError(f"Invalid attribute key:value pair '{token}'")
    parsed = _value(value)
    attribute = mesos_pb2.Attribute(name=name, type=mesos_pb2.Value.TEXT)
    if isinstance(parsed, float):
        attribute.type, attribute.scalar.value = mesos_pb2.Value.SCALAR, parsed
    elif isinstance(parsed, Ranges):
        attribute.type = mesos_pb2.Value.RANGES
        for begin, end in parsed.pairs:
            attribute.ranges.range.add(begin=begin, end=end)
    elif isinstance(parsed, str):
        attribute.text.value = parsed
    else:
        raise ResourcesError(f"Invalid attribute key:value pair '{token}': a set is not allowed")
    return attribute


def _text_entries(text: str, default_role: str) -> list[Entry]:
    return [_entry(token, default_role) for token in text.split(";") if token.strip()]


def _entry(token: str, default_role: str) -> Entry:
    pair = [part for part in token.split(":") if part]
    if len(pair) != 2:
        raise ResourcesError(f"Bad value for resources, missing or extra ':' in {token}")
    name, role = _name_and_role(pair[0], default_role, token)
    if not name:
        raise ResourcesError(f"Bad value for resources, empty name in {token}")
    kind, amount = _amount(name, pair[1])
    return Entry(Key(name, kind, () if role == "*" else (Reservation(STATIC, role),)), amount)


def _name_and_role(text: str, default_role: str, token: str) -> tuple[str, str]:
    name, opening, rest = text.partition("(")
    if not opening:
        return text.strip(), default_role
    role, closing, _ = rest.partition(")")
    if not closing:
        raise ResourcesError(f"Bad value for resources, mismatched parentheses in {token}")
    return name.strip(), role.strip()


def _amount(name: str, text: str) -> tuple[int, Amount]:
    try:
        value = _value(text)
    except ResourcesError as error:
        raise ResourcesError(f"Failed to parse resource {name} value {text} error {error}") from error
    if isinstance(value, str):
        raise ResourcesError(f"Bad type for resource {name} value {text} type TEXT")
    if isinstance(value, float):
        if not is_representable(value) or value < 0:
            raise ResourcesError(f"Failed to parse resource {name} value {text} error Invalid scalar value")
        return SCALAR, thousandths(value)
    return (RANGES, value) if isinstance(value, Ranges) else (SET, value)


def _value(text: str) -> float | Ranges | frozenset[str] | str:
    """A value of the grammar (Mesos 1.11: values::parse): blanks do not count."""
    text = text.replace(" ", "")
    if not text:
        raise ResourcesError("Expecting non-empty string")
    if any(not _matches(text, *pair) for pair in _BRACKETS):
        raise ResourcesError("Mismatched brackets")
    if text.startswith("["):
        return _ranges(text)
    if text.startswith("{"):
        return frozenset(item for item in re.split(r"[{},\n]", text) if item)
    for bracket in "[{":
        if bracket in text:
            raise ResourcesError(f"Unexpected '{bracket}' found")
    try:
        return float(text)
    except ValueError:
        return text


def _matches(text: str, opening: str, closing: str) -> bool:
    depth = 0
    for character in text:
        depth += (character == opening) - (character == closing)
        if depth < 0:
            return False
    return depth == 0


def _ranges(text: str) -> Ranges:
    numbers = [token for token in re.split(r"[\[\],\n-]", text) if token]
    if len(numbers) % 2:
        raise ResourcesError('Expecting one or more "ranges"')
    for number in numbers:
        if not (number.isascii() and number.isdigit()):
            raise ResourcesError(f"Expecting non-negative integers in '{number}'")
        if len(number) > _NUMBER_LENGTH or int(number) >= 1 << 64:
            raise ResourcesError(f"Number out of range in '{number:.40}'")
    pairs = list(zip(map(int, numbers[::2]), map(int, numbers[1::2]), strict=True))
    for begin, end in pairs:
        if begin > end:
            raise ResourcesError(f"Invalid range [{begin}-{end}]: begin > end")
    return Ranges(pairs)


def _json_entries(text: str, default_role: str) -> list[Entry]:
    try:
        objects: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ResourcesError(f"Failed to parse resources as JSON: {error}") from error
    return [_json_entry(item, default_role) for item in objects]


def _json_entry(item: Any, default_role: str) -> Entry:
    if not isinstance(item, dict):
        raise ResourcesError(f"Expecting a Resource object, not {json.dumps(item)}")
    try:
        resource = message_from_json(mesos_pb2.Resource, json.dumps(item))
    except JsonError as error:
        raise ResourcesError(f"Failed to parse resource {json.dumps(item)}: {error}") from error
    if not resource.HasField("role") and not resource.reservations:
        resource.role = default_role
    return entry_of(resource)
