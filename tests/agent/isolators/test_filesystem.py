"""filesystem/linux and linux/devices: what a container with an image sees beside it."""

from __future__ import annotations

from tests.agent.isolators.views import config, view_of
from tfmesos.agent.containerizer import ContainerId
from tfmesos.agent.isolators import Mount, Node, View
from tfmesos.agent.isolators.allowed_devices import AllowedDevice
from tfmesos.agent.isolators.filesystem import LinuxFilesystemIsolator
from tfmesos.agent.isolators.linux_devices import LinuxDevicesIsolator, allowed_nodes

PROC = Mount(source="proc", target="/proc", type="proc", options=("nosuid", "noexec", "nodev"))
SHM_OPTIONS = ("nosuid", "nodev", "strictatime", "mode=1777")
SHM = Mount(source="shm", target="/dev/shm", type="tmpfs", options=SHM_OPTIONS)


async def test_an_image_gets_the_file_systems_of_mesos_in_order() -> None:
    view = await view_of(LinuxFilesystemIsolator("/mnt/mesos/sandbox", has_shm=True), config(has_image=True))

    assert view is not None
    targets = [mount.target for mount in view.mounts if not mount.target.startswith("/etc/")]
    assert targets == [
        "/proc", "/sys", "/sys/fs/cgroup", "/dev", "/dev/pts", "/dev/shm", "/mnt/mesos/sandbox"
    ]  # fmt: skip
    by_target = {mount.target: mount for mount in view.mounts}
    assert by_target["/proc"] == PROC
    assert by_target["/sys"].options == ("ro", "nosuid", "noexec", "nodev")
    assert by_target["/sys/fs/cgroup"].type == "tmpfs"
    assert by_target["/dev"].options == ("nosuid", "noexec", "strictatime", "mode=755")
    assert by_target["/dev/pts"].options == (
        "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"
    )  # fmt: skip
    assert by_target["/dev/shm"] == SHM
    assert by_target["/mnt/mesos/sandbox"] == Mount(source="/work/runs/c", target="/mnt/mesos/sandbox")
    assert by_target["/etc/hosts"] == Mount(source="/etc/hosts", target="/etc/hosts", options=("bind", "ro"))
    assert view.readonly_paths == ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
    assert "/proc/kcore" in view.masked_paths
    assert "/sys/firmware" in view.masked_paths
    assert view.working_directory == "/mnt/mesos/sandbox"


async def test_shared_memory_is_left_to_the_isolator_of_it() -> None:
    view = await view_of(LinuxFilesystemIsolator("/mnt/mesos/sandbox", has_shm=False), config(has_image=True))

    assert view is not None
    assert "/dev/shm" not in {mount.target for mount in view.mounts}


async def test_nothing_is_masked_for_who_shares_the_processes_of_the_agent() -> None:
    given = config(has_image=True, linux={"share_pid_namespace": True})

    view = await view_of(LinuxFilesystemIsolator("/s", has_shm=True), given)

    assert view is not None
    assert view.masked_paths == ()


async def test_the_sandbox_of_a_nested_container_is_reached_through_no_link() -> None:
    directory = "/work/runs/p/containers/q/containers/c"
    given = config(has_image=True, parent=ContainerId("q", ContainerId("p")), directory=directory)

    view = await view_of(LinuxFilesystemIsolator("/s", has_shm=True), given)

    assert view is not None
    assert view.mounts[-1] == Mount(source=directory, target="/s", beneath="/work/runs/p")


async def test_an_image_has_the_nodes_that_are_allowed() -> None:
    nodes = allowed_nodes([AllowedDevice("/dev/null", "r"), AllowedDevice("/dev/zero", "rw")])

    view = await view_of(LinuxDevicesIsolator(nodes), config(has_image=True))

    assert view == View(
        nodes=(
            Node(path="/dev/null", type="c", major=1, minor=3, mode=0o444),
            Node(path="/dev/zero", type="c", major=1, minor=5, mode=0o666),
        )
    )
