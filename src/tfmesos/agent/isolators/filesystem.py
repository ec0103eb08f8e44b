"""filesystem/linux: a container with an image has a root file system of its own (Mesos 1.11: filesystem/linux.cpp)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tfmesos.agent.isolators.isolator import LaunchEdits, Shares, ViewIsolator
from tfmesos.agent.isolators.sandbox_mount import sandbox_mount
from tfmesos.agent.isolators.view import Mount, View
from tfmesos.agent.isolators.volumes.target import target_in_image

if TYPE_CHECKING:
    from tfmesos.agent.containerizer.config import ContainerConfig

_QUIET = ("nosuid", "noexec", "nodev")
SHM_OPTIONS = ("nosuid", "nodev", "strictatime", "mode=1777")
DEFAULT_SHM = Mount(source="shm", target="/dev/shm", type="tmpfs", options=SHM_OPTIONS)
"""Half of the machine's memory at most, as the kernel has it (kernel: tmpfs.rst)."""
PROC = Mount(source="proc", target="/proc", type="proc", options=_QUIET)
_SYSTEM = (
    PROC,
    Mount(source="sysfs", target="/sys", type="sysfs", options=("ro", *_QUIET)),
    Mount(source="tmpfs", target="/sys/fs/cgroup", type="tmpfs", options=(*_QUIET, "mode=755")),
    Mount(source="tmpfs", target="/dev", type="tmpfs", options=("nosuid", "noexec", "strictatime", "mode=755")),
    Mount(
        source="devpts",
        target="/dev/pts",
        type="devpts",
        options=("nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"),
    ),
)
_READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
_MASKED = (
    "/proc/acpi",
    "/proc/asound",
    "/proc/kcore",
    "/proc/keys",
    "/proc/key-users",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/firmware",
)
_NAMES = ("/etc/hosts", "/etc/hostname", "/etc/resolv.conf")
"""Mesos 1.11: network/cni.cpp; a container on the network of its host has its names."""


class LinuxFilesystemIsolator(ViewIsolator):
    """What a container with an image sees beside the image; others see the files of the host as they are."""

    name = "filesystem/linux"

    def __init__(self, sandbox_directory: str, *, has_shm: bool) -> None:
        """`sandbox_directory`: where the container sees its sandbox. `has_shm`: /dev/shm is for this one to make."""
        self._sandbox_directory = sandbox_directory
        self._system = (*_SYSTEM, DEFAULT_SHM) if has_shm else _SYSTEM

    async def prepare(self, config: ContainerConfig, shares: Shares) -> LaunchEdits:
        """Its mounts; it starts in its sandbox. Raises IsolationFailed if the image has its root there."""
        if config.root is None:
            return LaunchEdits()
        sandbox = target_in_image(config.root.image.tree, self._sandbox_directory)
        view = View(
            mounts=(*self._system, *_names_of_host(), sandbox_mount(config, sandbox)),
            masked_paths=() if _is_privileged(config) else _MASKED,
            readonly_paths=_READ_ONLY,
            working_directory=self._sandbox_directory,
        )
        return LaunchEdits(view=view)


def _names_of_host() -> tuple[Mount, ...]:
    present = filter(os.path.isfile, _NAMES)
    return tuple(Mount(source=path, target=path, options=("bind", "ro")) for path in present)


def _is_privileged(config: ContainerConfig) -> bool:
    """Mesos 1.11: one that asks for the processes of the agent."""
    info = config.container
    return info is not None and config.id.parent is None and info.linux_info.share_pid_namespace
