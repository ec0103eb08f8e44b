"""Durations and byte counts as Mesos' flags write them (Mesos 1.11: stout's Duration and Bytes)."""

import re

from tfmesos.flags.errors import FlagError

_NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "secs": 1_000_000_000,
    "mins": 60_000_000_000,
    "hrs": 3_600_000_000_000,
    "days": 86_400_000_000_000,
    "weeks": 604_800_000_000_000,
}
_NANOSECONDS_END = 2.0**63
"""Mesos 1.11: a Duration is an int64 of nanoseconds."""
_BYTES = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_NUMBER_AND_UNIT = re.compile(r"(?P<number>[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?)(?P<unit>[A-Za-z]*)")


def parse_duration(text: str) -> float:
    """Seconds of `15secs`, `1.5hrs`, `500ms`. Units: exactly ns us ms secs mins hrs days weeks; no blank, no sign."""
    number, unit = _split(text, "duration")
    scale = _NANOSECONDS.get(unit)
    if scale is None:
        raise FlagError(f"Unknown duration unit '{unit}' in '{text}' (allowed: {' '.join(_NANOSECONDS)})")
    nanoseconds = float(number) * scale
    if nanoseconds >= _NANOSECONDS_END:
        raise FlagError(f"Duration '{text}' is out of range: at most about 15250weeks")
    return round(nanoseconds) / 1e9


def format_duration(seconds: float) -> str:
    """The shortest Mesos text of a duration: 60 s is `1mins`, 90 s `90secs`, 10 days `10days`, 1.5 s `1500ms`."""
    nanoseconds = round(seconds * 1e9)
    units = list(_NANOSECONDS.items())
    bucket = max((i for i, (_, scale) in enumerate(units) if abs(nanoseconds) >= scale), default=0)
    for name, scale in reversed(units[max(bucket - 1, 0) : bucket + 1]):
        if nanoseconds % scale == 0:
            return f"{nanoseconds // scale}{name}"
    name, scale = units[bucket]
    return f"{nanoseconds / scale:.15g}{name}"


def parse_bytes(text: str) -> int:
    """Bytes of `4096B`, `2GB` (powers of 1024, unit required in any case, no fraction)."""
    number, unit = _split(text, "bytes")
    scale = _BYTES.get(unit.upper())
    if scale is None:
        raise FlagError(f"Unknown bytes unit '{unit}' in '{text}' (allowed: {' '.join(_BYTES)})")
    if not number.isdigit():
        raise FlagError(f"Fractional bytes '{text}'")
    return int(number) * scale


def format_bytes(count: int) -> str:
    """The largest unit that divides it: 2147483648 is `2GB`, 4096 `4KB`, 0 `0B`."""
    for name, scale in reversed(_BYTES.items()):
        if count >= scale and count % scale == 0:
            return f"{count // scale}{name}"
    return f"{count}B"


def _split(text: str, what: str) -> tuple[str, str]:
    match = _NUMBER_AND_UNIT.fullmatch(text)
    if match is None or not any(digit.isdigit() for digit in match["number"]):
        raise FlagError(f"Invalid {what} '{text}'")
    return match["number"], match["unit"]
