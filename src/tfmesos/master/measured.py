"""An allocator that is watched with a clock: `allocator/mesos/allocation_run…` (Mesos 1.11)."""

from time import perf_counter

from tfmesos.master.allocator import Allocation, Allocator, AllocatorEvent
from tfmesos.metrics import Metrics

_RUNS = "allocator/mesos/allocation_runs"
_TIME = "allocator/mesos/allocation_run_ms"


class MeasuredAllocator:
    """Does what `allocator` does; the metrics learn of each run and of how long it took."""

    def __init__(self, allocator: Allocator, metrics: Metrics) -> None:
        self._allocator = allocator
        self._metrics = metrics
        metrics.counts[_RUNS] = 0

    def handle(self, event: AllocatorEvent, now: float) -> None:
        """Take note of a change."""
        self._allocator.handle(event, now)

    def allocate(self, now: float) -> list[Allocation]:
        """Give what may be given now."""
        began = perf_counter()
        given = self._allocator.allocate(now)
        self._metrics.counts[_RUNS] += 1
        self._metrics.record(_TIME, (perf_counter() - began) * 1000, now)
        return given
