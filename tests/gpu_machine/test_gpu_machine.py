"""The fake GPU machine: what it shows, that cgroups rule its nodes, and that nothing of it is seen outside."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.gpu_machine import Description, Driver, GpuMachine, StartGpuMachine, View

COMMON = {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}

TELL = """
import pynvml as n
n.nvmlInit()
print(n.nvmlSystemGetDriverVersion(), n.nvmlSystemGetCudaDriverVersion(), n.nvmlSystemGetNVMLVersion())
for index in range(n.nvmlDeviceGetCount()):
    card = n.nvmlDeviceGetHandleByIndex(index)
    assert n.nvmlDeviceGetIndex(card) == index and not n.nvmlDeviceIsMigDeviceHandle(card)
    assert n.nvmlDeviceGetPciInfo(card).busId == f"00000000:{index + 1:02X}:00.0"
    assert n.nvmlDeviceGetPciInfo(card).bus == index + 1
    one, two = n.nvmlDeviceGetMemoryInfo(card), n.nvmlDeviceGetMemoryInfo(card, n.nvmlMemory_v2)
    assert (one.total, one.free, one.used) == (two.total, two.free, two.used)
    is_mig = n.nvmlDeviceGetMigMode(card)[0]
    rate = None if is_mig else n.nvmlDeviceGetUtilizationRates(card).gpu
    running = [(process.pid, process.usedGpuMemory >> 20) for process in n.nvmlDeviceGetComputeRunningProcesses(card)]
    print(n.nvmlDeviceGetMinorNumber(card), n.nvmlDeviceGetUUID(card), n.nvmlDeviceGetName(card), one.total >> 20, rate,
          running)
    for at in range(n.nvmlDeviceGetMaxMigDeviceCount(card)):
        try:
            mig = n.nvmlDeviceGetMigDeviceHandleByIndex(card, at)
        except n.NVMLError_NotFound:
            break
        assert n.nvmlDeviceIsMigDeviceHandle(mig)
        assert n.nvmlDeviceGetIndex(n.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig)) == index
        print("mig", n.nvmlDeviceGetUUID(mig), n.nvmlDeviceGetGpuInstanceId(mig), n.nvmlDeviceGetComputeInstanceId(mig),
              n.nvmlDeviceGetAttributes(mig).memorySizeMB, n.nvmlDeviceGetMemoryInfo(mig).total >> 20)
n.nvmlShutdown()
"""


def test_nvml_tells_the_machine(start_gpu_machine: StartGpuMachine) -> None:
    machine = start_gpu_machine(cards=2, mig={0: 2})
    machine.use((1, 4711, 300))

    told = machine.run(sys.executable, "-c", TELL)

    first, second = machine.cards
    name = "NVIDIA A100-SXM4-40GB"
    assert told.stdout.splitlines() == [
        "550.54.15 12040 12.550.54.15",
        f"1 {first.uuid} {name} 40960 None []",
        *(f"mig {one.uuid} {7 + at} 0 4864 4864" for at, one in enumerate(first.instances)),
        f"0 {second.uuid} {name} 40960 10 [(4711, 300)]",
    ]


@pytest.mark.parametrize(
    ("code", "error"), [(9, "NVMLError_DriverNotLoaded"), (999, "NVMLError_Unknown"), (0, "2")]
)  # fmt: skip
def test_nvml_fails_as_told(start_gpu_machine: StartGpuMachine, code: int, error: str) -> None:
    machine = start_gpu_machine()
    machine.fail(nvmlInit=code)
    script = "import pynvml\npynvml.nvmlInit()\nprint(pynvml.nvmlDeviceGetCount())"
    assert error in machine.run(sys.executable, "-c", script).stdout.splitlines()[-1]


def test_a_machine_without_the_library(start_gpu_machine: StartGpuMachine) -> None:
    machine = start_gpu_machine(without=["nvml"])
    told = machine.run(sys.executable, "-c", "import pynvml\npynvml.nvmlInit()")
    assert "NVMLError_LibraryNotFound" in told.stdout.splitlines()[-1]


def test_the_library_outside_of_a_machine(gpu_driver: Driver, tmp_path: Path) -> None:
    described = tmp_path / "machine"
    described.write_text(Description(cards=()).text())
    script = f"import ctypes\nprint(ctypes.CDLL({str(gpu_driver.nvml)!r}).nvmlInit_v2())"
    environment = {"FAKE_GPU_MACHINE": str(described)}
    assert subprocess.check_output([sys.executable, "-c", script], env=environment, text=True) == "0\n"


@contextmanager
def process_in_cgroup(machine: GpuMachine, *allowed: str) -> Iterator[int]:
    """A process of the machine in a v1 devices cgroup that allows just this."""
    cgroup = Path("/sys/fs/cgroup/devices", machine.cgroups_root)
    cgroup.mkdir()
    (cgroup / "devices.deny").write_text("a")
    for rule in ("c 1:3 rwm", *allowed):
        (cgroup / "devices.allow").write_text(rule)
    process = subprocess.Popen(machine.command("sleep", "1000"))
    (cgroup / "cgroup.procs").write_text(str(process.pid))
    yield process.pid
    process.kill()
    process.wait()


def test_a_cgroup_rules_what_opens(start_gpu_machine: StartGpuMachine) -> None:
    machine = start_gpu_machine(cards=3)
    assert machine.opens() == COMMON | {"nvidia0", "nvidia1", "nvidia2"}

    with process_in_cgroup(machine, "c 195:255 rwm", "c 195:1 rw", f"c {machine.uvm_major}:* rwm") as pid:
        assert machine.opens(pid) == COMMON | {"nvidia1"}
        assert machine.cards_open(pid) == {"nvidia1"}


def test_whose_process_has_gone_opens_nothing(start_gpu_machine: StartGpuMachine) -> None:
    machine = start_gpu_machine()
    with process_in_cgroup(machine) as pid:
        pass
    with pytest.raises(ProcessLookupError):
        machine.opens(pid)


def in_cgroup(machine: GpuMachine, *allowed: str, argv: list[str]) -> subprocess.CompletedProcess[str]:
    """Run it in such a cgroup."""
    with process_in_cgroup(machine, *allowed) as pid:
        procs = f"/sys/fs/cgroup/devices/{machine.cgroups_root}/cgroup.procs"
        assert Path(f"/proc/{pid}").exists()
        return machine.run("sh", "-c", f'echo $$ > {procs} && exec "$@"', "sh", *argv)


def test_nvidia_smi_lists_the_card_that_opens(start_gpu_machine: StartGpuMachine) -> None:
    machine = start_gpu_machine(cards=2)
    card = machine.cards[0]
    listed = in_cgroup(machine, "c 195:255 rwm", f"c 195:{card.minor} rw", argv=["nvidia-smi", "-L"])
    assert listed.stdout == f"GPU 0: {card.name} (UUID: {card.uuid})\n"


def test_nvidia_smi_lists_the_instance_whose_nodes_both_open(start_gpu_machine: StartGpuMachine) -> None:
    machine = start_gpu_machine(cards=1, mig={0: 2})
    one, other = machine.cards[0].instances
    assert {*one.nodes, *other.nodes} < machine.opens()
    assert machine.run("nvidia-smi", "--list-gpus").stdout.count("UUID: MIG-") == 2

    rules = [f"c {machine.caps_major}:{cap} rw" for cap in (*one.caps, other.caps[0])]
    listed = in_cgroup(machine, "c 195:255 rwm", "c 195:0 rw", *rules, argv=["nvidia-smi", "-L"]).stdout
    assert one.uuid in listed
    assert other.uuid not in listed


@pytest.mark.parametrize(
    ("rules", "status", "text"),
    [
        (["c 195:255 rwm"], 6, "No devices were found"),
        (["c 195:0 rwm"], 4, "Insufficient Permissions"),
        (["c 195:* rw"], 0, "Driver Version: 550.54.15"),
    ],
)
def test_nvidia_smi_ends_as_the_real_one(
    start_gpu_machine: StartGpuMachine, rules: list[str], status: int, text: str
) -> None:
    ended = in_cgroup(start_gpu_machine(), *rules, argv=["nvidia-smi"])
    assert (ended.returncode, text in ended.stdout) == (status, True)


def test_modprobe_makes_the_nodes_of_uvm(start_gpu_machine: StartGpuMachine) -> None:
    machine = start_gpu_machine(without=["uvm"])
    assert machine.opens() == {"nvidiactl", "nvidia0", "nvidia1"}
    machine.run("nvidia-modprobe", "-u", "-c", "0")
    assert machine.opens() == COMMON | {"nvidia0", "nvidia1"}


@pytest.mark.parametrize("view", ["v1", "v2"])
def test_nothing_is_seen_outside(start_gpu_machine: StartGpuMachine, view: View) -> None:
    def surroundings() -> tuple[str, set[str], list[str]]:
        mounts = Path("/proc/self/mountinfo").read_text()
        return mounts, set(os.listdir("/dev")), os.listdir("/usr/local/sbin")

    before = surroundings()
    machine = start_gpu_machine(view=view)
    machine.run("mknod", "/dev/nvidia7", "c", "195", "7")
    assert "nvidia7" in machine.opens()
    assert machine.run("cat", "/proc/driver/nvidia/version").stdout.startswith("NVRM version")

    assert surroundings() == before
    machine.close()
    assert surroundings() == before


def test_the_v2_view_has_one_hierarchy_and_takes_back_what_was_enabled(start_gpu_machine: StartGpuMachine) -> None:
    control = Path("/sys/fs/cgroup/unified/cgroup.subtree_control")
    before = control.read_text()
    machine = start_gpu_machine(view="v2")
    enable = f"cd /sys/fs/cgroup && echo +hugetlb > cgroup.subtree_control && mkdir -p {machine.cgroups_root}/one"
    assert machine.run("sh", "-c", enable).returncode == 0
    child = subprocess.Popen(machine.command("sleep", "1000"))
    machine.run("sh", "-c", f"echo {child.pid} > /sys/fs/cgroup/{machine.cgroups_root}/one/cgroup.procs")
    assert machine.opens(child.pid) == COMMON | {"nvidia0", "nvidia1"}
    assert len(machine.cgroups_left()) == 2

    machine.close()

    assert child.wait(10) == -9
    assert machine.cgroups_left() == []
    assert control.read_text() == before


def test_what_is_started_keeps_its_pid_and_the_namespace_lasts(start_gpu_machine: StartGpuMachine) -> None:
    machine = start_gpu_machine()
    process = subprocess.Popen(machine.command("sh", "-c", "echo $$"), stdout=subprocess.PIPE, text=True)
    assert process.communicate()[0] == f"{process.pid}\n"

    machine.run("touch", "/run/here", "/var/lib/there", "/dev/shm/none")
    assert machine.run("ls", "/run", "/var/lib").stdout.split() == ["/run:", "here", "/var/lib:", "there"]
    Path("/dev/shm/none").unlink()  # shared memory is the machine's around it


def test_the_machine_changes_under_the_driver(start_gpu_machine: StartGpuMachine) -> None:
    machine = start_gpu_machine(cards=1)
    machine.describe(Description(cards=tuple(replace(card, name="Tesla") for card in machine.cards)))
    assert "Tesla" in machine.run("nvidia-smi", "-L").stdout


def test_a_network_of_its_own(start_gpu_machine: StartGpuMachine) -> None:
    machine = start_gpu_machine(has_network=False)
    script = "import socket\nsocket.create_server(('127.0.0.1', 5050))\nprint(socket.if_nameindex())"
    assert machine.run(sys.executable, "-c", script).stdout == "[(1, 'lo')]\n"
