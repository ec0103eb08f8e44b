"""NVIDIA's management library, by nvidia-ml-py. Nothing here changes anything of a card.

Symbols that older drivers lack are done without where what they tell is optional.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from tfmesos.agent.gpu.cards import Card, MigInstance, Unit
from tfmesos.agent.gpu.errors import NvmlFailed, NvmlMissing

LIBRARY = "libnvidia-ml.so.1"
_MIB = 1024 * 1024
_Handle = Any  # an opaque pointer of the library
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What a unit does at one time. `utilization`: the part of the last moments in which it computed, from 0 to 1."""

    memory_total_bytes: int
    memory_used_bytes: int
    utilization: float | None = None
    """None of an instance of a card in MIG mode: NVML does not tell it."""


class Nvml:
    """The library, loaded and initialised. Each call may hang with the driver: see NvmlThread."""

    def __init__(self, pynvml: Any) -> None:
        """`pynvml`: the module, initialised; `open` makes it so."""
        self._pynvml = pynvml
        self._handles: dict[str, _Handle] = {}

    @classmethod
    def open(cls, library: str = LIBRARY) -> Nvml:
        """Load the library, by name or path. Raises NvmlMissing, NvmlFailed."""
        import pynvml

        try:
            pynvml.nvmlLib = ctypes.CDLL(library)  # nvidia-ml-py knows one name only
        except OSError as error:
            raise NvmlMissing(f"NVML is not available: {error} (--nvidia_library={library})") from error
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            raise NvmlFailed(
                f"NVML ({library}) cannot be initialized: {error}; is the nvidia module loaded?"
            ) from error
        return cls(pynvml)

    def driver_version(self) -> str:
        """As in the names of the driver's libraries: 535.104.05. Raises NvmlFailed."""
        return str(self._call("the version of the driver", self._pynvml.nvmlSystemGetDriverVersion))

    def count(self) -> int:
        """The number of cards. Raises NvmlFailed."""
        return int(self._call("the number of cards", self._pynvml.nvmlDeviceGetCount))

    def card(self, index: int) -> Card:
        """One card. Raises NvmlFailed, also for one that has fallen off the bus."""
        nvml, what = self._pynvml, f"card {index}"
        handle = self._call(what, lambda: nvml.nvmlDeviceGetHandleByIndex(index))
        uuid = str(self._call(f"{what}: its UUID", lambda: nvml.nvmlDeviceGetUUID(handle)))
        self._handles[uuid] = handle
        is_mig = self._is_mig(handle)
        return Card(
            index=index,
            minor=int(self._call(f"{what}: its minor", lambda: nvml.nvmlDeviceGetMinorNumber(handle))),
            uuid=uuid,
            name=self._name(handle),
            memory_mb=self._memory_mb(handle),
            is_mig=is_mig,
            mig=tuple(self._instances(handle)) if is_mig else (),
        )

    def sample(self, unit: Unit) -> Sample | None:
        """What a unit of a card that was read does now; None if it does not tell."""
        handle = self._handles.get(unit.uuid)
        memory = self._optional(lambda: self._pynvml.nvmlDeviceGetMemoryInfo(handle)) if handle is not None else None
        if memory is None:
            return None
        rates = self._optional(lambda: self._pynvml.nvmlDeviceGetUtilizationRates(handle))
        return Sample(
            memory_total_bytes=int(memory.total),
            memory_used_bytes=int(memory.used),
            utilization=None if rates is None else rates.gpu / 100,
        )

    def _is_mig(self, handle: _Handle) -> bool:
        modes = self._optional(lambda: self._pynvml.nvmlDeviceGetMigMode(handle))
        return bool(modes and modes[0] == self._pynvml.NVML_DEVICE_MIG_ENABLE)

    def _instances(self, handle: _Handle) -> Iterator[MigInstance]:
        nvml = self._pynvml
        for index in range(self._optional(lambda: nvml.nvmlDeviceGetMaxMigDeviceCount(handle)) or 0):
            instance = self._optional(partial(nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, index))
            if instance is not None:  # indices may have gaps
                yield self._instance(instance)

    def _instance(self, handle: _Handle) -> MigInstance:
        nvml, what = self._pynvml, "a MIG instance"
        uuid = str(self._call(f"{what}: its UUID", lambda: nvml.nvmlDeviceGetUUID(handle)))
        self._handles[uuid] = handle
        return MigInstance(
            uuid=uuid,
            gpu_instance=int(self._call(what, lambda: nvml.nvmlDeviceGetGpuInstanceId(handle))),
            compute_instance=int(self._call(what, lambda: nvml.nvmlDeviceGetComputeInstanceId(handle))),
            memory_mb=self._memory_mb(handle),
            name=self._name(handle),
        )

    def _name(self, handle: _Handle) -> str:
        return str(self._optional(lambda: self._pynvml.nvmlDeviceGetName(handle)) or "")

    def _memory_mb(self, handle: _Handle) -> int:
        """0 where it shares the machine's memory."""
        memory = self._optional(lambda: self._pynvml.nvmlDeviceGetMemoryInfo(handle))
        return int(memory.total) // _MIB if memory is not None else 0

    def _call(self, what: str, call: Callable[[], _Answer]) -> _Answer:
        try:
            return call()
        except self._pynvml.NVMLError as error:
            raise NvmlFailed(f"NVML does not tell {what}: {error}") from error

    def _optional(self, call: Callable[[], _Answer]) -> _Answer | None:
        try:
            return call()
        except self._pynvml.NVMLError:
            return None
