"""The device nodes beside those of the cards, and their numbers.

/dev/nvidiactl, /dev/nvidia-uvm           every program that uses the driver opens them; the major of uvm is dynamic
/dev/nvidia-uvm-tools                     for profilers; not on every machine
/proc/devices                             names the major of the caps nodes: `<major> nvidia-caps`
/proc/driver/nvidia-caps/mig-minors       and their minors: `gpu<card's minor>/gi<n>/access <minor>`,
                                          `gpu<card's minor>/gi<n>/ci<m>/access <minor>`
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tfmesos.agent.gpu.cards import DeviceNode
from tfmesos.agent.gpu.errors import GpuError
from tfmesos.cgroups import BadDeviceRule, Device

_CAPS_MAJOR = re.compile(r"^\s*(\d+) nvidia-caps$", re.MULTILINE)
_MINOR = re.compile(r"^(\S+) (\d+)$", re.MULTILINE)
_MODPROBE_TIMEOUT_S = 30.0
_CONTROL, _UVM, _UVM_TOOLS = "dev/nvidiactl", "dev/nvidia-uvm", "dev/nvidia-uvm-tools"


@dataclass(frozen=True, slots=True)
class MigNodes:
    """What must open for whoever uses an instance of a card in MIG mode; of a machine without MIG, nothing."""

    major: int | None = None
    minors: Mapping[str, int] = field(default_factory=dict)
    """By what they are for, as mig-minors names them."""

    @classmethod
    def read(cls, root: Path) -> MigNodes:
        """Of this machine."""
        major = _CAPS_MAJOR.search(_text(root / "proc/devices"))
        minors = _MINOR.findall(_text(root / "proc/driver/nvidia-caps/mig-minors"))
        return cls(int(major[1]) if major else None, {name: int(minor) for name, minor in minors})

    def of_instance(self, card_minor: int, gpu_instance: int, compute_instance: int) -> tuple[DeviceNode, ...] | None:
        """Those of the two accesses; None if the driver does not tell them."""
        whole = f"gpu{card_minor}/gi{gpu_instance}"
        minors = [self.minors.get(f"{name}/access") for name in (whole, f"{whole}/ci{compute_instance}")]
        if self.major is None or None in minors:
            return None
        return tuple(
            DeviceNode(f"/dev/nvidia-caps/nvidia-cap{minor}", Device("c", self.major, minor)) for minor in minors
        )


async def control_nodes(root: Path) -> tuple[DeviceNode, ...]:
    """What every container may open so that NVIDIA's tools run in it, also one without GPUs. Raises GpuError.

    The node of uvm appears when its module is loaded: NVIDIA's own tool is asked for that (Mesos 1.11 does the same).
    """
    nodes = [_node(root, _CONTROL, "is the nvidia module loaded? nvidia-smi or nvidia-modprobe makes the node")]
    if not (root / _UVM).exists():
        await _load_uvm()
    nodes.append(_node(root, _UVM, "nvidia-modprobe -u -c 0 makes it"))
    return (*nodes, *_present(root, (_UVM_TOOLS,)))


def present_control_nodes(root: Path) -> tuple[DeviceNode, ...]:
    """Those of `control_nodes` that are there."""
    return _present(root, (_CONTROL, _UVM, _UVM_TOOLS))


def _present(root: Path, names: Iterable[str]) -> tuple[DeviceNode, ...]:
    found = []
    for name in names:
        with contextlib.suppress(OSError, BadDeviceRule):
            found.append(DeviceNode(f"/{name}", Device.of_node(root / name)))
    return tuple(found)


def _node(root: Path, name: str, remedy: str) -> DeviceNode:
    path = root / name
    try:
        return DeviceNode(f"/{name}", Device.of_node(path))
    except OSError as error:
        raise GpuError(f"Failed to obtain device ID for '{path}': {error.strerror}; {remedy}") from error
    except BadDeviceRule as error:
        raise GpuError(f"Failed to obtain device ID for '{path}': {error}") from error


async def _load_uvm() -> None:
    try:
        process = await asyncio.create_subprocess_exec(
            "nvidia-modprobe", "-u", "-c", "0", stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
        )
    except OSError as error:
        raise GpuError(
            f"Failed to load '/dev/nvidia-uvm': nvidia-modprobe cannot be run: {error.strerror}; install it, or load "
            "the module nvidia-uvm and make its node"
        ) from error
    try:
        _, said = await asyncio.wait_for(process.communicate(), _MODPROBE_TIMEOUT_S)
    except TimeoutError as error:
        process.kill()
        await process.wait()
        raise GpuError(
            f"Failed to load '/dev/nvidia-uvm': nvidia-modprobe takes over {_MODPROBE_TIMEOUT_S:g} s"
        ) from error
    if process.returncode:
        raise GpuError(
            f"Failed to load '/dev/nvidia-uvm': nvidia-modprobe -u -c 0 ended with {process.returncode}: "
            f"{said.decode(errors='replace').strip()}"
        )


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
