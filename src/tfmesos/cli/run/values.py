"""Values of options from their texts; each raises ValueError with what is allowed."""

import math

__all__ = ["parse_amount", "parse_cards", "parse_count", "parse_ids", "parse_time", "parse_variable"]

_MINUTE_S, _HOUR_S, _DAY_S = 60.0, 3600.0, 86400.0
_UNITS = {"": 1.0, "s": 1.0, "secs": 1.0, "m": _MINUTE_S, "mins": _MINUTE_S}
_UNITS |= {"h": _HOUR_S, "hrs": _HOUR_S, "d": _DAY_S, "days": _DAY_S}


def parse_count(text: str) -> int:
    """How many tasks."""
    try:
        count = int(text)
    except ValueError:
        raise ValueError("a whole number is needed") from None
    if count < 0:
        raise ValueError("it cannot be negative")
    return count


def parse_amount(text: str) -> float:
    """Cpus or megabytes."""
    try:
        amount = float(text)
    except ValueError:
        raise ValueError("a number is needed") from None
    if not math.isfinite(amount):
        raise ValueError("a finite number is needed")
    if amount < 0:
        raise ValueError("it cannot be negative")
    return amount


def parse_cards(text: str) -> int:
    """Gpus: `1.0` is 1."""
    amount = parse_amount(text)
    if amount != int(amount):
        raise ValueError("a card cannot be shared: give a whole number")
    return int(amount)


def parse_ids(text: str) -> tuple[int, ...] | None:
    """Indices of workers, `0,2`; `*` is all (None)."""
    if text.strip() == "*":
        return None
    try:
        ids = tuple(int(part) for part in text.split(","))
    except ValueError:
        ids = (-1,)
    if any(each < 0 for each in ids):
        raise ValueError("indices of workers are needed, as 0,2, or * for all")
    return ids


def parse_variable(text: str) -> tuple[str, str]:
    """NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ValueError("NAME=VALUE is needed")
    return name, value


def parse_time(text: str) -> float:
    """Seconds of `90`, `90s`, `10m`, `2h`, `1d` and Mesos' `10mins`."""
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text[len(number) :]
    try:
        seconds = float(number) * _UNITS[unit]
    except (KeyError, ValueError):
        raise ValueError("a time is needed, as 90, 90s, 10m, 2h or 1d") from None
    if not 0 < seconds < math.inf:
        raise ValueError("it must be more than 0")
    return seconds
