"""The numbers of one program."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tfmesos.metrics.timer import Timer

Reading = Callable[[], Mapping[str, float]]
"""Reads numbers that are kept elsewhere."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All numbers at one time, by Mesos' names."""

    gauges: Mapping[str, float] = field(default_factory=dict)
    counters: Mapping[str, float] = field(default_factory=dict)
    timers: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Of each timer what `Timer.values` says."""

    def flat(self) -> dict[str, float]:
        """As `/metrics/snapshot` shows them: one object, sorted by name."""
        numbers = {**self.gauges, **self.counters}
        for name, values in self.timers.items():
            numbers |= {f"{name}/{part}" if part else name: value for part, value in values.items()}
        return dict(sorted(numbers.items()))


class Metrics:
    """Counters that are there from the start at 0, timers, and gauges that are read only when somebody asks."""

    def __init__(self, counters: Iterable[str] = (), gauges: Iterable[Reading] = ()) -> None:
        self.counts: Counter[str] = Counter(dict.fromkeys(counters, 0))
        """Numbers that only grow; a name that was not announced appears with its first count."""
        self._gauges = list(gauges)
        self._counters: list[Reading] = []
        self._timers: dict[str, Timer] = {}

    def add_gauges(self, gauges: Reading) -> None:
        """Read these, too: numbers that may go down."""
        self._gauges.append(gauges)

    def add_counters(self, counters: Reading) -> None:
        """Read these, too: numbers that only grow."""
        self._counters.append(counters)

    def record(self, name: str, value_ms: float, now: float) -> None:
        """What the timer of this name measures took so long."""
        self._timers.setdefault(name, Timer()).record(value_ms, now)

    def snapshot(self, now: float) -> Snapshot:
        """All numbers; `now` is of the clock that timers were recorded by."""
        counters = {name: float(count) for name, count in self.counts.items()}
        for read in self._counters:
            counters |= read()
        gauges: dict[str, float] = {}
        for read in self._gauges:
            gauges |= read()
        return Snapshot(
            gauges=gauges,
            counters=counters,
            timers={name: timer.values(now) for name, timer in self._timers.items()},
        )


def shares(name: str, total: int, used: int) -> dict[str, float]:
    """`<name>_total`, `_used` and `_percent` (0 to 1, as Mesos has it) of an amount in thousandths."""
    return {
        f"{name}_total": total / 1000,
        f"{name}_used": used / 1000,
        f"{name}_percent": used / total if total else 0.0,
    }
