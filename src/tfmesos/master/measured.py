"""Parts that are watched with a clock: `allocator/mesos/allocation_run…`, `registrar/…` (Mesos 1.11)."""

from collections.abc import Callable
from time import perf_counter

from tfmesos.master.allocator import Allocation, AllocatorEvent, HierarchicalAllocator
from tfmesos.master.core import Registry
from tfmesos.master.core.registry import Operation, RegistryState
from tfmesos.metrics import Metrics

_RUNS = "allocator/mesos/allocation_runs"
_TIME = "allocator/mesos/allocation_run_ms"
_STORE = "registrar/state_store_ms"
_FETCH = "registrar/state_fetch_ms"
_SIZE = "registrar/registry_size_bytes"


class MeasuredAllocator:
    """Does what `allocator` does; the metrics learn of each run and of how long it took."""

    def __init__(self, allocator: HierarchicalAllocator, metrics: Metrics, now: Callable[[], float]) -> None:
        self._allocator = allocator
        self._metrics = metrics
        metrics.counts[_RUNS] = 0
        metrics.add_gauges(lambda: {f"allocator/mesos/{name}": n for name, n in allocator.measures(now()).items()})

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


class MeasuredRegistry:
    """Does what the registry does that `open_registry` gives; the metrics learn its size and how long it takes."""

    def __init__(self, open_registry: Callable[[], Registry], metrics: Metrics, now: Callable[[], float]) -> None:
        began = perf_counter()
        self._registry = open_registry()
        fetch_ms = (perf_counter() - began) * 1000
        self._metrics = metrics
        self._now = now
        metrics.add_gauges(lambda: {_FETCH: fetch_ms, _SIZE: float(self.size)})

    @property
    def state(self) -> RegistryState:
        """The state as read when it was opened, then the living one."""
        return self._registry.state

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return self._registry.size

    def record(self, operation: Operation) -> None:
        """Write an operation down."""
        began = perf_counter()
        self._registry.record(operation)
        self._metrics.record(_STORE, (perf_counter() - began) * 1000, self._now())

    async def sync(self) -> None:
        """Until all that was recorded survives a loss of power."""
        await self._registry.sync()

    def close(self) -> None:
        """Let go of the file."""
        self._registry.close()
