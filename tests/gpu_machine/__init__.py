"""A fake GPU machine for tests: no card is needed, and nothing outside of it is touched.

The fixtures `gpu_driver` and `start_gpu_machine` are in tests/conftest.py.
"""

from collections.abc import Callable

from tests.gpu_machine.cards import CARD_MAJOR, DRIVER_VERSION, Description, FakeCard, FakeInstance
from tests.gpu_machine.compiled import Driver, build_driver
from tests.gpu_machine.machine import GpuMachine, Part, View, missing_for_gpu_machine

StartGpuMachine = Callable[..., GpuMachine]
"""Takes the keyword arguments of GpuMachine."""

__all__ = [
    "CARD_MAJOR",
    "DRIVER_VERSION",
    "Description",
    "Driver",
    "FakeCard",
    "FakeInstance",
    "GpuMachine",
    "Part",
    "StartGpuMachine",
    "View",
    "build_driver",
    "missing_for_gpu_machine",
]
