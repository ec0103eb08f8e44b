"""What the units do, asked of NVML once in a while."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Collection, Mapping

from tfmesos.agent.gpu.cards import Unit
from tfmesos.agent.gpu.errors import NvmlFailed
from tfmesos.agent.gpu.nvml import Nvml, Sample
from tfmesos.agent.gpu.nvml_thread import NvmlThread

_MAX_AGE_S = 1.0
_TIMEOUT_S = 2.0


class Sampler:
    """The last samples. Whoever wants them new calls `refresh` first."""

    def __init__(self, units: Collection[Unit], nvml: Nvml | None, thread: NvmlThread) -> None:
        """Without NVML there are never any."""
        self._units = tuple(units)
        self._nvml = nvml
        self._thread = thread
        self._samples: Mapping[Unit, Sample] = {}
        self._taken_s = float("-inf")
        self._running: asyncio.Future[None] | None = None

    def last(self, unit: Unit) -> Sample | None:
        """The last sample of a unit; None if it does not tell, or nobody has asked yet."""
        return self._samples.get(unit)

    async def refresh(self) -> None:
        """Have samples that are no older than a second, unless the driver hangs: then there are none."""
        if self._nvml is None or time.monotonic() - self._taken_s < _MAX_AGE_S:
            return
        if self._running is None:
            self._running = asyncio.ensure_future(self._take(self._nvml))
            self._running.add_done_callback(self._done)
        await asyncio.shield(self._running)

    async def _take(self, nvml: Nvml) -> None:
        found: dict[Unit, Sample] = {}
        with contextlib.suppress(NvmlFailed):
            found = await self._thread.call(lambda: _samples(nvml, self._units), timeout_s=_TIMEOUT_S)
        self._samples, self._taken_s = found, time.monotonic()

    def _done(self, running: asyncio.Future[None]) -> None:
        self._running = None


def _samples(nvml: Nvml, units: Collection[Unit]) -> dict[Unit, Sample]:
    taken = ((unit, nvml.sample(unit)) for unit in units)
    return {unit: sample for unit, sample in taken if sample is not None}
