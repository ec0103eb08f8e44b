"""Values out of JSON that must be of one kind. Each raises TypeError, whose text names the value."""

from __future__ import annotations

from collections.abc import Mapping


def as_object(value: object) -> Mapping[str, object]:
    """Of an object."""
    if not isinstance(value, dict):
        raise TypeError(f"an object is missing: {value!r}")
    return value


def as_list(value: object) -> list[object]:
    """Of a list."""
    if not isinstance(value, list):
        raise TypeError(f"a list is missing: {value!r}")
    return value


def as_text(value: object) -> str:
    """Of a text."""
    if not isinstance(value, str):
        raise TypeError(f"a text is missing: {value!r}")
    return value


def as_number(value: object) -> int:
    """Of a whole number."""
    if not isinstance(value, int):
        raise TypeError(f"a number is missing: {value!r}")
    return value
