"""What NVIDIA's driver tells, and what of its files is there."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from tfmesos.agent.doctor.finding import Finding
from tfmesos.agent.doctor.flags import DoctorFlags
from tfmesos.agent.doctor.wants import Wants
from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.gpu import Card, GpuError, Machine, MigInstance, NvmlMissing, discover, find_gpus
from tfmesos.agent.gpu.cards import CARD_MAJOR
from tfmesos.agent.gpu.cdi import SpecificationFiles, edits_for
from tfmesos.agent.gpu.nodes import MigNodes, control_nodes
from tfmesos.agent.gpu.volume import driver_libraries, driver_programs
from tfmesos.cgroups import Device

_UVM = "/dev/nvidia-uvm"
_FOR_ALL = stat.S_IROTH | stat.S_IWOTH
_TOOLS = {
    "nvidia-smi": "it shows the cards and comes with the driver (Debian: `apt-get install nvidia-smi`)",
    "nvidia-modprobe": "it makes nodes, loads nvidia-uvm and comes with the driver (Debian: `apt-get install "
    "nvidia-modprobe`)",
}
_LIBRARY = "install the driver's libraries (Debian: `apt-get install libnvidia-ml1`), or say where: --nvidia_library"
_DRIVER = "see `dmesg | grep -i nvrm`; after an upgrade of the driver reboot, or load its modules anew"


async def driver_findings(flags: DoctorFlags, wants: Wants, root: Path) -> AsyncIterator[Finding]:
    """NVML, what is offered, each card with its nodes, the nodes for control, tools, libraries."""
    machine = None
    try:
        _, machine = await discover(flags.nvidia_library)
        yield _nvml(machine)
    except GpuError as error:
        remedy = _LIBRARY if isinstance(error, NvmlMissing) else _DRIVER
        yield Finding(subject="NVML", text=str(error), is_there=False, remedy=remedy, is_needed=wants.gpus)
    if machine is not None:
        for finding in _cards(machine, flags, wants, root):
            yield finding
    if (wants.gpus and machine is not None) or (not wants.gpus and flags.nvidia_gpu_devices is not None):
        yield await _offer(flags, root)
    yield await _control(wants, root)
    for finding in _tools():
        yield finding
    if machine is not None and wants.isolated_gpus:
        yield _volume(machine, root)
    injections = ("auto", "cdi") if wants.images else ("cdi",)
    if machine is not None and wants.gpus and flags.nvidia_injection in injections:
        yield await _cdi(flags, root)


def _nvml(machine: Machine) -> Finding:
    return Finding(
        subject="NVML",
        text=f"driver {machine.driver_version}, {len(machine.cards)} cards",
        is_there=bool(machine.cards),
        remedy="see `nvidia-smi` and `dmesg | grep -i nvrm`",
    )


def _cards(machine: Machine, flags: DoctorFlags, wants: Wants, root: Path) -> Iterator[Finding]:
    nodes = MigNodes.read(root)
    for card in machine.cards:
        is_needed = wants.gpus and (flags.nvidia_gpu_devices is None or card.index in flags.nvidia_gpu_devices)
        fault, remedy = _node_fault(root, f"/dev/nvidia{card.minor}", Device("c", CARD_MAJOR, card.minor))
        text = f"{card.name}, {card.memory_mb} MB, {card.uuid}, /dev/nvidia{card.minor}"
        if card.is_mig:
            text += f", MIG with {len(card.mig)} instances"
        yield Finding(
            subject=f"card {card.index}",
            text=f"{text}: {fault}" if fault else text,
            is_there=not fault,
            remedy=remedy or f"`nvidia-modprobe -c {card.minor}` makes it",
            is_needed=is_needed,
        )
        for part in card.mig:
            yield _instance(card, part, nodes, root, is_needed=is_needed)
    for fault in machine.faults:
        yield Finding(subject="card", text=fault, is_there=False, remedy=_DRIVER)


def _instance(card: Card, part: MigInstance, nodes: MigNodes, root: Path, *, is_needed: bool) -> Finding:
    caps = nodes.of_instance(card.minor, part.gpu_instance, part.compute_instance)
    paths = {node.path: node.device for node in caps or ()}
    faults = [f"{path} {fault}" for path, device in paths.items() if (fault := _node_fault(root, path, device)[0])]
    if caps is None:
        faults = ["/proc/driver/nvidia-caps does not tell its nodes"]
    return Finding(
        subject=f"card {card.index}",
        text=", ".join([part.name or "MIG instance", part.uuid, *(faults or paths)]),
        is_there=not faults,
        remedy="`nvidia-modprobe -f /proc/driver/nvidia/capabilities/gpu<minor>/mig/gi<n>/access` makes them",
        is_needed=is_needed,
    )


def _node_fault(root: Path, path: str, device: Device) -> tuple[str, str]:
    """What is wrong with a node, and the remedy, if it is not just missing; two empty texts if nothing is."""
    try:
        status = os.stat(root / path.lstrip("/"))
    except OSError as error:
        return f"{error.strerror}", ""
    if Device.of_status(status) != device:
        return f"is not the node of {device}", f"`rm {path}`, and have it made anew"
    if status.st_mode & _FOR_ALL != _FOR_ALL:
        return "other users than root cannot open it", f"`chmod 666 {path}` (the module's NVreg_DeviceFileMode)"
    return "", ""


async def _offer(flags: DoctorFlags, root: Path) -> Finding:
    try:
        supply = await find_gpus(flags, root)
    except BadAgentFlags as error:
        return Finding(subject="offer", text=str(error), is_there=False, is_needed=True)
    return Finding(subject="offer", text=str(supply.resources) or "no GPUs", is_there=bool(supply.resources))


async def _cdi(flags: DoctorFlags, root: Path) -> Finding:
    is_needed = flags.nvidia_injection == "cdi"
    remedy = "`nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml` writes one"
    try:
        units = (await find_gpus(flags, root)).units
        edits = edits_for(units, SpecificationFiles(root).read())
    except (BadAgentFlags, GpuError) as error:
        return Finding(subject="CDI", text=str(error), is_there=False, remedy=remedy, is_needed=is_needed)
    text = f"a specification for all GPUs, with {len(edits.mounts)} files of the driver"
    return Finding(subject="CDI", text=text, is_needed=is_needed)


async def _control(wants: Wants, root: Path) -> Finding:
    """As the agent looks at them when it starts, except that nvidia-uvm is not loaded here."""
    tool = shutil.which("nvidia-modprobe")
    if tool and not root.joinpath(_UVM.lstrip("/")).exists() and (root / "dev/nvidiactl").exists():
        return Finding(subject="nodes", text=f"/dev/nvidiactl; the agent has {_UVM} made by {tool} when it starts")
    try:
        nodes = await control_nodes(root)
    except GpuError as error:
        return Finding(subject="nodes", text=str(error), is_there=False, is_needed=wants.isolated_gpus)
    tools = "" if len(nodes) > 2 else " (no nvidia-uvm-tools, which only profilers want)"
    return Finding(subject="nodes", text=f"/dev/nvidiactl, {_UVM}{tools}")


def _tools() -> Iterator[Finding]:
    for tool, remedy in _TOOLS.items():
        path = shutil.which(tool)
        yield Finding(subject=tool, text=path or "is not on PATH", is_there=path is not None, remedy=remedy)


def _volume(machine: Machine, root: Path) -> Finding:
    libraries = driver_libraries(root, machine.driver_version)
    return Finding(
        subject="driver volume",
        text=f"programs: {len(driver_programs(root))}, libraries: {len(libraries)}, for containers with an image",
        is_there=bool(libraries),
        remedy="`ldconfig` tells where the driver's libraries are",
    )
