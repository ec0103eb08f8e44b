"""The cards on the bus, and who drives them; without asking the driver anything."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from tfmesos.agent.doctor.finding import Finding
from tfmesos.agent.doctor.wants import Wants

_NVIDIA, _AMD = "0x10de", "0x1002"  # PCI ids of vendors
_DISPLAY, _ACCELERATOR = "0x03", "0x12"  # PCI classes
_VERSION = re.compile(r"Kernel Module.*?\s(\d+\.\d+(?:\.\d+)?)")
_NO_NOUVEAU = (
    "`printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' > /etc/modprobe.d/nouveau.conf`, make the initial RAM "
    "disk anew (`update-initramfs -u` or `dracut --force`), reboot"
)
_INSTALL = (
    "install the driver (Debian: `apt-get install nvidia-driver`; Ubuntu: `ubuntu-drivers install --gpgpu`; others: "
    "https://www.nvidia.com/drivers)"
)
_LOAD = "`modprobe nvidia`; with secure boot its modules have to be signed"


def card_findings(wants: Wants, root: Path) -> Iterator[Finding]:
    """What is plugged in, nouveau, and NVIDIA's module."""
    vendors = list(_vendors(root))
    count = vendors.count(_NVIDIA)
    yield Finding(
        subject="cards of NVIDIA",
        text=f"{count or 'none'} on the PCI bus",
        is_there=count > 0,
        remedy="a virtual machine has those only that are passed through to it",
    )
    if _AMD in vendors:
        yield Finding(
            subject="cards of AMD",
            text=f"{vendors.count(_AMD)} on the PCI bus, which agents do not offer: GPUs are NVIDIA's here",
            is_there=False,
        )
    version = loaded_version(root)
    yield _nouveau(root, is_needed=wants.gpus, is_driven=version is not None)
    yield _module(root, version, is_needed=wants.gpus)


def loaded_version(root: Path) -> str | None:
    """Of NVIDIA's kernel module."""
    try:
        found = _VERSION.search((root / "proc/driver/nvidia/version").read_text(errors="replace"))
    except OSError:
        return None
    return found[1] if found else "of unknown version"


def _vendors(root: Path) -> Iterator[str]:
    for device in sorted((root / "sys/bus/pci/devices").glob("*")):
        if _text(device / "class").startswith((_DISPLAY, _ACCELERATOR)):
            yield _text(device / "vendor")


def _nouveau(root: Path, *, is_needed: bool, is_driven: bool) -> Finding:
    is_loaded = (root / "sys/module/nouveau").exists()
    text = "the module is loaded" if is_loaded else "is not loaded"
    if is_loaded and not is_driven:
        text += " and keeps the cards from NVIDIA's driver"
    return Finding(
        subject="nouveau", text=text, is_there=is_driven or not is_loaded, remedy=_NO_NOUVEAU, is_needed=is_needed
    )


def _module(root: Path, version: str | None, *, is_needed: bool) -> Finding:
    if version is not None:
        return Finding(subject="driver", text=f"kernel module {version}")
    is_installed = any(root.glob(f"lib/modules/{os.uname().release}/**/nvidia*.ko*"))
    return Finding(
        subject="driver",
        text="NVIDIA's kernel module is not loaded",
        is_there=False,
        remedy=_LOAD if is_installed else _INSTALL,
        is_needed=is_needed,
    )


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
