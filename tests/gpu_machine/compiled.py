"""The fake driver's programs and libraries, compiled by gcc."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.gpu_machine.cards import DRIVER_VERSION

_SOURCES = Path(__file__).parent / "driver"
_MODPROBE = """#!/bin/sh
# nvidia-modprobe -u -c 0: make the nodes of nvidia-uvm, whose major is dynamic.
major=$(awk '$2 == "nvidia-uvm" { print $1 }' /proc/devices)
mknod -m 666 /dev/nvidia-uvm c "$major" 0 && mknod -m 666 /dev/nvidia-uvm-tools c "$major" 1
"""


@dataclass(frozen=True, slots=True)
class Driver:
    """Folders with what an installed driver has. `ld_cache`: the loader's cache of this system, and these libraries."""

    folder: Path

    @property
    def libraries(self) -> Path:
        return self.folder / "lib"

    @property
    def programs(self) -> Path:
        """nvidia-smi, nvidia-modprobe."""
        return self.folder / "bin"

    @property
    def nvml(self) -> Path:
        return self.libraries / "libnvidia-ml.so.1"

    @property
    def machine(self) -> Path:
        """What tells programs in containers of the machine; each machine has one of its own in this place."""
        return self.libraries / f"libnvidia-machine.so.{DRIVER_VERSION}"

    @property
    def try_nodes(self) -> Path:
        return self.folder / "try_nodes"

    @property
    def ld_cache(self) -> Path:
        return self.folder / "ld.so.cache"


def build_driver(folder: Path) -> Driver:
    """Compile it into this folder (0.5 s)."""
    driver = Driver(folder)
    driver.libraries.mkdir(parents=True)
    driver.programs.mkdir()
    _build_library(driver, "libnvidia-ml", _SOURCES / "nvml.c")
    _build_library(driver, "libcuda", Path("/dev/null"))
    _build_library(driver, "libnvidia-machine", Path("/dev/null"))
    _compile("-o", driver.programs / "nvidia-smi", _SOURCES / "nvidia_smi.c")
    _compile("-D_GNU_SOURCE", "-o", driver.try_nodes, _SOURCES / "try_nodes.c")
    modprobe = driver.programs / "nvidia-modprobe"
    modprobe.write_text(_MODPROBE)
    modprobe.chmod(0o755)
    configuration = folder / "ld.so.conf"
    configuration.write_text(f"{driver.libraries}\ninclude /etc/ld.so.conf\n")
    subprocess.run(["/sbin/ldconfig", "-X", "-C", driver.ld_cache, "-f", configuration], check=True)
    return driver


def _build_library(driver: Driver, name: str, source: Path) -> None:
    """As NVIDIA does: the file is named after the driver's version, a link after the ABI."""
    file = driver.libraries / f"{name}.so.{DRIVER_VERSION}"
    _compile("-shared", "-fPIC", f"-Wl,-soname,{name}.so.1", "-o", file, "-x", "c", source)
    (driver.libraries / f"{name}.so.1").symlink_to(file.name)


def _compile(*arguments: str | Path) -> None:
    subprocess.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", *arguments], check=True)
