"""What can go wrong with GPUs.

GpuError             the root
  NvmlMissing        there is no NVML library: no NVIDIA driver is installed
  NvmlFailed         NVML is there, but answers with an error, or not at all
  TooFewGpus         more is asked for than is free
  NotAvailable       certain GPUs are asked for, and they are not free
  NotAllocated       certain GPUs are given back, and nobody has them
  UnknownGpus        a container of an agent before has GPUs that this agent does not have
  StillClaimed       a container is to lose GPUs that a container nested in it has
"""

from collections.abc import Iterable

from tfmesos.agent.errors import AgentError


class GpuError(AgentError):
    """The root of this room's errors."""


class NvmlMissing(GpuError):
    """There is no NVML library."""


class NvmlFailed(GpuError):
    """NVML is there, but answers with an error, or not at all."""


class TooFewGpus(GpuError):
    """More is asked for than is free; `total`: what could ever be."""

    def __init__(self, wanted: int, available: int, total: int) -> None:
        super().__init__(f"Requested {wanted} gpus but only {available} available")
        self.wanted = wanted
        self.available = available
        self.total = total


class NotAvailable(GpuError):
    """Certain GPUs are asked for, and they are not free, or not of this agent."""

    def __init__(self, units: Iterable[object]) -> None:
        super().__init__(f"{_braced(units)} are not available")


class NotAllocated(GpuError):
    """Certain GPUs are given back, and nobody has them."""

    def __init__(self, units: Iterable[object]) -> None:
        super().__init__(f"{_braced(units)} are not allocated")


class StillClaimed(GpuError):
    """A container is to lose GPUs that a container nested in it has."""

    def __init__(self, units: Iterable[object]) -> None:
        super().__init__(f"{_braced(units)} are in the hands of nested containers")


class UnknownGpus(GpuError):
    """A container of an agent before has GPUs that this agent does not have."""

    def __init__(self, uuids: Iterable[str]) -> None:
        super().__init__(f"{', '.join(uuids)} is no GPU of this agent")


def _braced(units: Iterable[object]) -> str:
    return "{" + ", ".join(map(str, units)) + "}"
