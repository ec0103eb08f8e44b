"""Waiting longer each time."""

from __future__ import annotations

from collections.abc import Iterator


def delays_s(first_s: float, longest_s: float) -> Iterator[float]:
    """Endless."""
    delay_s = first_s
    while True:
        yield delay_s
        delay_s = min(delay_s * 1.5, longest_s)
