"""The NVIDIA driver's programs and libraries, for containers whose image has none of its own.

driver_volume.py  the directory with them
collection.py     finds them: by ld_cache.py, in a tree by rooted.py
selection.py      which of them belong to the driver, by their names and by elf.py (pure)
injection.py      which containers get the volume, and what they are told then (pure)
"""

from tfmesos.agent.gpu.volume.collection import driver_libraries, driver_programs
from tfmesos.agent.gpu.volume.driver_volume import DriverVolume, build_driver_volume
from tfmesos.agent.gpu.volume.injection import DIRECTORY, should_inject, volume_environment

__all__ = [
    "DIRECTORY",
    "DriverVolume",
    "build_driver_volume",
    "driver_libraries",
    "driver_programs",
    "should_inject",
    "volume_environment",
]
