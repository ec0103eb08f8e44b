"""How long something takes."""

from collections import deque
from collections.abc import Mapping
from itertools import islice

_CAPACITY = 1000
_WINDOW_S = 3600.0
_PERCENTILES = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999), ("p9999", 0.9999))


class Timer:
    """Keeps the values of the last hour, at most 1000 of them (Mesos 1.11: timers of a time series)."""

    def __init__(self) -> None:
        self._values: deque[tuple[float, float]] = deque(maxlen=_CAPACITY)

    def record(self, value_ms: float, now: float) -> None:
        """Something took so long; `now` in seconds, of a clock that does not step back."""
        self._values.append((now, value_ms))

    def values(self, now: float) -> Mapping[str, float]:
        """The last value under "", and with two or more count, extremes and percentiles; nothing before the first.

        Percentiles lie between two values as on a straight line (recorded: Mesos 1.11, session operator).
        """
        if not self._values:
            return {}
        last = self._values[-1][1]
        too_old = sum(1 for time, _ in self._values if time < now - _WINDOW_S)
        kept = sorted(value for _, value in islice(self._values, too_old, None))
        if len(kept) < 2:
            return {"": last}
        extremes = {"": last, "count": float(len(kept)), "max": kept[-1], "min": kept[0]}
        return extremes | {name: _percentile(kept, share) for name, share in _PERCENTILES}


def _percentile(values: list[float], share: float) -> float:
    position = share * (len(values) - 1)
    below = int(position)
    if below + 1 == len(values):
        return values[-1]
    return values[below] + (position - below) * (values[below + 1] - values[below])
