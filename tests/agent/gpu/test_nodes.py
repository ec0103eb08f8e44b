"""The control devices, and those of MIG instances."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tfmesos.agent.gpu.cards import DeviceNode
from tfmesos.agent.gpu.errors import GpuError
from tfmesos.agent.gpu.nodes import MigNodes, control_nodes, present_control_nodes
from tfmesos.cgroups import Device

UVM_MAJOR = 511

pytestmark = pytest.mark.root


@pytest.fixture
def dev(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty /dev, and no programs."""
    if os.geteuid() != 0:
        pytest.skip("makes device nodes: needs root")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    (tmp_path / "dev").mkdir()
    return tmp_path / "dev"


def make(path: Path, major: int, minor: int) -> None:
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(major, minor))


def write_modprobe(dev: Path, text: str) -> None:
    program = dev.parent / "bin/nvidia-modprobe"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)


async def test_the_tools_of_uvm_are_optional_and_its_major_is_that_of_the_node(dev: Path) -> None:
    make(dev / "nvidiactl", 195, 255)
    make(dev / "nvidia-uvm", UVM_MAJOR, 0)
    assert await control_nodes(dev.parent) == (
        DeviceNode("/dev/nvidiactl", Device("c", 195, 255)),
        DeviceNode("/dev/nvidia-uvm", Device("c", UVM_MAJOR, 0)),
    )

    make(dev / "nvidia-uvm-tools", UVM_MAJOR, 1)
    found = await control_nodes(dev.parent)
    assert found[2:] == (DeviceNode("/dev/nvidia-uvm-tools", Device("c", UVM_MAJOR, 1)),)
    assert present_control_nodes(dev.parent) == found


def test_without_a_driver_there_are_no_control_nodes(dev: Path) -> None:
    assert present_control_nodes(dev.parent) == ()


async def test_what_nvidia_modprobe_makes_is_found(dev: Path) -> None:
    make(dev / "nvidiactl", 195, 255)
    write_modprobe(dev, f'[ "$*" = "-u -c 0" ] && /bin/mknod {dev}/nvidia-uvm c {UVM_MAJOR} 0')

    found = await control_nodes(dev.parent)
    assert Device("c", UVM_MAJOR, 0) in [node.device for node in found]


async def test_what_is_missing_is_named_with_the_remedy(dev: Path) -> None:
    with pytest.raises(GpuError, match=r"device ID for '.*/nvidiactl': No such file or directory; .*nvidia-modprobe"):
        await control_nodes(dev.parent)
    make(dev / "nvidiactl", 195, 255)
    with pytest.raises(GpuError, match=r"'/dev/nvidia-uvm': nvidia-modprobe cannot be run: No such file.*install it"):
        await control_nodes(dev.parent)
    write_modprobe(dev, "echo no such module >&2; exit 3")
    with pytest.raises(GpuError, match=r"nvidia-modprobe -u -c 0 ended with 3: no such module$"):
        await control_nodes(dev.parent)
    write_modprobe(dev, "exit 0")
    with pytest.raises(GpuError, match=r"device ID for '.*/nvidia-uvm'.*nvidia-modprobe -u -c 0 makes it"):
        await control_nodes(dev.parent)


async def test_a_file_that_is_no_device_is_refused(dev: Path) -> None:
    (dev / "nvidiactl").touch()

    with pytest.raises(GpuError, match="neither a character nor a block device"):
        await control_nodes(dev.parent)


def test_of_a_driver_without_mig_no_nodes_are_told(tmp_path: Path) -> None:
    assert MigNodes.read(tmp_path).of_instance(0, 7, 0) is None
