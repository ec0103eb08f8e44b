"""The volume of the driver that an agent makes when it starts (Mesos 1.11: NvidiaGpuTest.VolumeCreation)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gpu.cluster import GpuCluster
from tests.gpu_machine import DRIVER_VERSION, StartGpuMachine


@pytest.fixture
def cluster(start_gpu_machine: StartGpuMachine) -> Iterator[GpuCluster]:
    """One that is not started."""
    cluster = GpuCluster(start_gpu_machine())
    yield cluster
    cluster.stop()


def test_it_has_the_programs_and_libraries(cluster: GpuCluster) -> None:
    cluster.start()
    cluster.agent.expect("volume of the NVIDIA driver: ")

    (volume,) = (cluster.directory / "agent/gpu").iterdir()
    assert volume.name == f"nvidia_{DRIVER_VERSION}"
    for name in ("bin/nvidia-smi", "lib", "lib64/libnvidia-ml.so.1", "lib64/libcuda.so.1"):
        assert (volume / name).exists(), name


def test_an_agent_that_cannot_make_it_runs_tasks(cluster: GpuCluster) -> None:
    (cluster.directory / "agent").mkdir()
    (cluster.directory / "agent/gpu").write_text("in the way")

    cluster.start()

    cluster.agent.expect("containers with an image will lack")
    assert cluster.execute("true", "cpus:0.1;mem:32;gpus:1").status == 0
