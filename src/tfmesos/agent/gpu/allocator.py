"""Which units are free (Mesos 1.11: isolators/gpu/allocator.cpp). Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tfmesos.agent.gpu.cards import Unit
from tfmesos.agent.gpu.errors import NotAllocated, NotAvailable, TooFewGpus


class Allocator:
    """The units of an agent, each free or allocated. One object for all containerizers. What raises changes nothing."""

    def __init__(self, units: Iterable[Unit] = ()) -> None:
        self.total = frozenset(units)
        self._free = set(self.total)

    @property
    def free(self) -> frozenset[Unit]:
        """What nobody has."""
        return frozenset(self._free)

    @property
    def allocated(self) -> frozenset[Unit]:
        """What somebody has."""
        return self.total - self._free

    def allocate(self, count: int) -> frozenset[Unit]:
        """Take so many, the lowest that are free. Raises TooFewGpus."""
        if count > len(self._free):
            raise TooFewGpus(count, len(self._free), len(self.total))
        taken = frozenset(sorted(self._free)[:count])
        self._free -= taken
        return taken

    def allocate_exactly(self, units: Collection[Unit]) -> None:
        """Take these. Raises NotAvailable."""
        wanted = frozenset(units)
        if not wanted <= self._free:
            raise NotAvailable(sorted(wanted - self._free))
        self._free -= wanted

    def deallocate(self, units: Collection[Unit]) -> None:
        """Give these back. Raises NotAllocated."""
        given = frozenset(units)
        if not given <= self.allocated:
            raise NotAllocated(sorted(given - self.allocated))
        self._free |= given
