"""Which of a machine's programs and libraries belong to its NVIDIA driver. Pure.

A library is the driver's if its file carries the driver's version (`libcuda.so.570.86.15`), whatever it is called: a
list of names gets old with each driver. A few have versions of their own and are known by name.
"""

from __future__ import annotations

import re

from tfmesos.agent.gpu.volume.elf import Elf

PROGRAMS = (
    "nvidia-smi",
    "nvidia-debugdump",
    "nvidia-persistenced",
    "nvidia-cuda-mps-control",
    "nvidia-cuda-mps-server",
)
_BY_NAME = (
    "libnvidia-",
    "libcuda.so",
    "libcudadebugger.so",
    "libnvcuvid.so",
    "libnvoptix.so",
    "libvdpau_nvidia.so",
    "libGLX_nvidia.so",
    "libEGL_nvidia.so",
    "libGLESv2_nvidia.so",
    "libGLESv1_CM_nvidia.so",
    *(_LOADERS := ("libGL.so", "libEGL.so", "libGLESv1_CM.so", "libGLESv2.so")),
)
_OF_OTHERS = ("libnvidia-container",)
"""The container toolkit's own, which is no part of a driver."""
_NEEDED_BY_LOADERS = re.compile(r"libGLdispatch\.so$|libnvidia-gl|libnvidia-egl")
_VERSION = re.compile(r"\.so\.(\d{3}\.\d+(?:\.\d+)?)$")
_TLS = "libnvidia-tls.so"
_TLS_ABI = (2, 3, 99)


def belongs(name: str, file_name: str, driver_version: str) -> bool:
    """Whether what programs load as `name`, the file `file_name`, may be the driver's; `is_usable` tells the rest.

    A file with the version of another driver (what an earlier installation left) does not work with this one.
    """
    if name.startswith(_OF_OTHERS):
        return False
    found = _VERSION.search(file_name)
    return found[1] == driver_version if found else name.startswith(_BY_NAME)


def is_usable(name: str, elf: Elf) -> bool:
    """Whether containers are to have it: libGL and the like may be another vendor's, and of libnvidia-tls two kinds

    exist, of which the one for old kernels is told by its ABI note. One without a note, as of today's drivers, is the
    only one there is (Mesos 1.11 stops at it).
    """
    if name.startswith(_LOADERS):
        return any(_NEEDED_BY_LOADERS.match(needed) for needed in elf.needed)
    return not name.startswith(_TLS) or elf.abi is None or elf.abi == _TLS_ABI


def further_links(name: str) -> tuple[str, ...]:
    """Other names that programs load it by, which no cache tells (Mesos 1.11: as nvidia-docker did)."""
    if name.startswith("libGLX_nvidia.so"):
        return (name.replace("GLX_nvidia", "GLX_indirect"),)
    return ()
