"""scripts/check_gpu_machine.py, where there is all but CUDA, and where more is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.gpu_machine import GpuMachine, StartGpuMachine

SCRIPTS = Path(__file__).parents[2] / "scripts"
NAMES = (
    "driver", "agent", "discovery", "allowed open", "denied open", "uvm", "visible devices", "volume", "image",
    "given back",
)  # fmt: skip
FINE = dict.fromkeys(NAMES, "ok") | dict.fromkeys(("cuda", "training step"), "not possible")


def check(machine: GpuMachine, *words: str | Path) -> tuple[int, dict[str, str], str]:
    """The script's status, its verdicts, and all that it has said."""
    script = SCRIPTS / "check_gpu_machine.py"
    done = machine.run(sys.executable, script, f"--cgroups_root={machine.cgroups_root}", *words)
    assert machine.cgroups_left() == []
    verdicts = {line[:16].strip(): line[17:30].strip() for line in done.stdout.splitlines()}
    return done.returncode, verdicts, done.stdout


def test_a_machine_that_has_all_is_found_to_be_fine(start_gpu_machine: StartGpuMachine, python_archive: Path) -> None:
    status, verdicts, said = check(start_gpu_machine(cards=2, mig={0: 2}, view="v2"), f"--image={python_archive}")
    assert verdicts == FINE, said
    assert status == 0
    assert "libcuda.so.1: undefined symbol: cuInit" in said


def test_where_containers_cannot_be_isolated_the_rest_is_checked(start_gpu_machine: StartGpuMachine) -> None:
    """As in a container whose cgroups are read-only."""
    machine = start_gpu_machine(cards=1)
    for way in ("bind,", "remount,bind,ro,"):
        machine.run("mount", "-o", f"{way}noexec", "/sys/fs/cgroup/devices", "/sys/fs/cgroup/devices")
    status, verdicts, said = check(machine)
    assert verdicts == FINE | dict.fromkeys(("denied open", "image"), "not possible"), said
    assert status == 0
    assert "/sys/fs/cgroup/devices is mounted read-only" in said


def test_what_is_broken_has_failed(start_gpu_machine: StartGpuMachine) -> None:
    status, verdicts, said = check(start_gpu_machine(cards=1, without=["uvm", "modprobe"]))
    assert verdicts == {"driver": "ok", "agent": "failed"}, said
    assert "/dev/nvidia-uvm" in said
    assert status == 1


def test_without_a_driver_there_is_nothing_to_check(start_gpu_machine: StartGpuMachine) -> None:
    status, verdicts, said = check(start_gpu_machine(without=["nvml"]))
    assert verdicts == {"driver": "not possible"}, said
    assert status == 2


def test_a_step_without_a_framework_says_what_is_missing(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", str(SCRIPTS / "gpu_task.py"), "train", str(tmp_path / "answer")]
    subprocess.run(command, check=True)
    answer = json.loads((tmp_path / "answer").read_text())
    assert answer["is_done"] is False
    assert answer["text"].endswith("No module named 'torch'; No module named 'tensorflow'")
