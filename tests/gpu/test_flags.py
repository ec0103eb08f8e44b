"""--isolation, --resources and --nvidia_gpu_devices (Mesos 1.11: NvidiaGpuTest.FlagValidation, a to l; G6)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from urllib.error import URLError

import pytest

from tests.gpu.cluster import GpuCluster
from tests.gpu_machine import StartGpuMachine

CARDS = 2
OURS = "cgroups/devices,gpu/nvidia"
PLAIN = "posix/cpu,posix/mem"


@pytest.fixture
def clusters() -> Iterator[list[GpuCluster]]:
    started: list[GpuCluster] = []
    yield started
    for cluster in started:
        cluster.stop()


def gpus_or_fault(cluster: GpuCluster) -> float | str:
    """How many GPUs the agent has, or what it says when it ends."""
    cluster.agent.start()
    deadline = time.monotonic() + 20
    while cluster.agent.is_running and time.monotonic() < deadline:
        try:
            return float(cluster.get("/state")["resources"]["gpus"])
        except URLError:
            time.sleep(0.02)  # it does not listen yet
    assert not cluster.agent.is_running, "it neither answers nor ends"
    return cluster.agent.log()


@pytest.mark.parametrize(
    ("isolation", "resources", "devices", "expected"),
    [
        pytest.param(PLAIN, "cpus:1", None, 0, id="a: no isolator, no discovery"),
        pytest.param(PLAIN, "cpus:1;gpus:1", "0", "--nvidia_gpu_devices", id="b: devices without isolator"),
        pytest.param(PLAIN, "cpus:1;gpus:100", None, 100, id="c: a number without isolator passes"),
        pytest.param(OURS, "cpus:1", None, CARDS, id="d: discovery"),
        pytest.param(OURS, "cpus:1;gpus:0", None, 0, id="e: none wanted"),
        pytest.param(OURS, "cpus:1;gpus:1", "0", 1, id="f: one of them"),
        pytest.param(OURS, "cpus:1", "0", "--resources", id="g: devices without gpus"),
        pytest.param(OURS, "cpus:1;gpus:1", None, "--nvidia_gpu_devices", id="h: gpus without devices"),
        pytest.param(OURS, "cpus:1;gpus:2", "0", "--nvidia_gpu_devices", id="i: less devices than gpus"),
        pytest.param(OURS, "cpus:1;gpus:0", "0", "--nvidia_gpu_devices", id="j: devices, none wanted"),
        pytest.param(OURS, "cpus:1;gpus:4", "0,1,2,3", "machine has 2", id="k: more than there are"),
        pytest.param(OURS, "cpus:1;gpus:1", "0,0", "duplicates", id="l: duplicates"),
    ],
)
def test_flag_validation(
    start_gpu_machine: StartGpuMachine,
    clusters: list[GpuCluster],
    isolation: str,
    resources: str,
    devices: str | None,
    expected: float | str,
) -> None:
    flags = [f"--resources={resources}"] + ([] if devices is None else [f"--nvidia_gpu_devices={devices}"])
    cluster = GpuCluster(start_gpu_machine(cards=CARDS), *flags, isolation=isolation)
    clusters.append(cluster)

    found = gpus_or_fault(cluster)

    if isinstance(expected, str):
        assert isinstance(found, str)
        assert expected in found
        assert "Traceback" not in found
    else:
        assert found == expected
