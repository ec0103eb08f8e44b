"""Values that flags of several subjects have: from their text, or FlagError that says what is wanted."""

from __future__ import annotations

from collections.abc import Callable

from tfmesos.flags import FlagError, parse_bytes, parse_duration


def one_of(*allowed: str) -> Callable[[str], str]:
    """One of these words."""

    def parse(text: str) -> str:
        if text not in allowed:
            raise FlagError(f"{text!r} is not supported yet; it can be {' or '.join(allowed)}")
        return text

    return parse


def parse_count(text: str) -> int:
    """A whole number from 0."""
    if not (text.isascii() and text.isdigit()):
        raise FlagError(f"Failed to convert '{text}' to number: a whole number from 0 is wanted")
    return int(text)


def parse_share(text: str) -> float:
    """A number from 0 to 1."""
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise FlagError(f"{text!r}: a number from 0 to 1 is wanted")
    return share


def parse_interval(text: str) -> float:
    """A time above 0, in seconds."""
    seconds = parse_duration(text)
    if seconds <= 0:
        raise FlagError(f"{text!r}: more than 0 is wanted")
    return seconds


def parse_size(text: str) -> int:
    """A size above 0, in bytes."""
    size = parse_bytes(text)
    if size <= 0:
        raise FlagError(f"{text!r}: more than 0 is wanted")
    return size
