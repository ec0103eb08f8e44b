"""What containers run and may do, as isolators say it and the OCI runtime makes it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.agent.isolators.containers import Containers, container, names_in, read
from tfmesos.agent import AgentFlags
from tfmesos.agent.assembly import build_containerizer
from tfmesos.metrics import Metrics
from tfmesos.wire import mesos_pb2

pytestmark = [pytest.mark.root, pytest.mark.cgroups]

Caps = mesos_pb2.CapabilityInfo


@pytest.mark.parametrize("image", ["box", None])
async def test_shared_memory_has_the_size_that_was_asked_for(containers: Containers, image: str | None) -> None:
    linux = mesos_pb2.LinuxInfo(ipc_mode=mesos_pb2.LinuxInfo.PRIVATE, shm_size=2048)
    line = "df -k /dev/shm | tail -n 1; readlink /proc/self/ns/ipc; dd if=/dev/zero of=/dev/shm/x bs=1M count=5 2>&1"

    said = await containers.output_of(containers.configure(line, container(image, linux_info=linux)))

    lines = said.splitlines()
    assert lines[0].split()[1] == str(2 * 1024 * 1024)
    assert lines[1] != os.readlink("/proc/self/ns/ipc")
    assert "x" not in names_in(Path("/dev/shm"))


async def test_shared_memory_is_big_enough_for_training(containers: Containers) -> None:
    said = await containers.output_of(containers.configure("df -k /dev/shm | tail -n 1", container("box")))

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert int(said.split()[1]) * 1024 >= memory // 2 - 4096  # four workers' batches of 256 MB, where there is memory


async def test_a_container_sees_its_own_processes_and_no_more_of_the_kernel_than_it_needs(
    containers: Containers,
) -> None:
    line = (
        "echo $$; ls -d /proc/[0-9]* | wc -l; wc -c < /proc/timer_list; ls /sys/firmware /sys/fs/cgroup | wc -l; "
        "echo 1 > /proc/sys/kernel/domainname; ls /dev; cat /etc/hosts"
    )

    said = await containers.output_of(containers.configure(line, container("box")))

    lines = said.splitlines()
    assert lines[0] == "1"
    assert int(lines[1]) <= 4
    assert lines[2] == "0"
    assert "can't create /proc/sys/kernel/domainname: Read-only file system" in said
    assert {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "shm", "fd", "stdin"} <= set(lines)
    assert "kmsg" not in lines
    assert read("/etc/hosts") in said


@pytest.mark.parametrize("image", ["box", None])
async def test_rights_and_limits_are_those_that_were_asked_for(containers: Containers, image: str | None) -> None:
    limits = mesos_pb2.RLimitInfo()
    limits.rlimits.add(type=mesos_pb2.RLimitInfo.RLimit.RLMT_NOFILE, soft=77, hard=99)
    limits.rlimits.add(type=mesos_pb2.RLimitInfo.RLimit.RLMT_NPROC)
    linux = mesos_pb2.LinuxInfo(effective_capabilities=Caps(capabilities=[Caps.NET_RAW]))
    line = "grep -E '^(CapEff|CapPrm|CapBnd|NoNewPrivs)' /proc/self/status; ulimit -S -n; ulimit -H -n"

    said = await containers.output_of(
        containers.configure(line, container(image, linux_info=linux, rlimit_info=limits))
    )

    bit, bounding = 1 << 13, 1 << 13 | 1 << 5 | 1 << 1
    assert dict(line.split() for line in said.splitlines()[:4]) == {
        "CapPrm:": f"{bit:016x}",
        "CapEff:": f"{bit:016x}",
        "CapBnd:": f"{bounding:016x}",
        "NoNewPrivs:": "1",
    }
    assert said.splitlines()[4:] == ["77", "99"]


async def test_who_wants_more_than_is_allowed_is_refused(containers: Containers) -> None:
    linux = mesos_pb2.LinuxInfo(effective_capabilities=Caps(capabilities=[Caps.SYS_ADMIN]))

    text = await containers.refusal_of(containers.configure("true", container("box", linux_info=linux)))

    assert text == "Invalid capabilities: CAP_SYS_ADMIN not allowed by the bounding capabilities"


async def test_an_image_says_what_to_run(containers: Containers) -> None:
    assert await containers.output_of(containers.configure(None, container("told"))) == "entry c $HOME\n"
    config = containers.configure(None, container("told"))
    config.command.arguments.extend(["mine", "two words"])
    assert await containers.output_of(config) == "entry mine two words\n"
    config = containers.configure("echo $A $B ${odd-none}", container("told"))
    config.command.environment.variables.add(name="A", value="2")
    assert await containers.output_of(config) == "2 x=y none\n"
    assert await containers.refusal_of(containers.configure(None, container("bare"))) == (
        "Failed to determine the launch command: No executable is found"
    )


async def test_devices_that_all_may_use_are_there(containers: Containers) -> None:
    said = await containers.output_of(containers.configure("stat -c %a /dev/full", container("box")))

    assert said == "444\n"


async def test_nothing_is_made_for_an_image_that_is_refused(flags: AgentFlags, tmp_path: Path) -> None:
    plain = AgentFlags(master="none", work_dir=flags.work_dir, cgroups_root=flags.cgroups_root, launcher="posix")
    containerizer = await build_containerizer(plain, Metrics())
    await containerizer.start()
    containers = Containers(containerizer, tmp_path / "sandboxes")

    text = await containers.refusal_of(containers.configure("rm -rf /", container("box")))

    assert text == (
        "Container root filesystems not supported by this agent: it needs --image_providers=docker, and "
        "filesystem/linux and docker/runtime in --isolation"
    )
    assert not (tmp_path / "sandboxes").exists()
    await containerizer.close()
