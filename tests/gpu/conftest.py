"""Clusters with fake GPUs, on both versions of cgroups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.chaos.conftest import new_mark
from tests.gpu.cluster import GpuCluster, build_master
from tests.gpu_machine import StartGpuMachine, View
from tests.ports import free_port

StartGpuCluster = Callable[..., GpuCluster]
one_view = pytest.mark.parametrize("view", ["v1"])
"""For what has nothing to do with the version of cgroups."""


@pytest.fixture(params=["v1", "v2"])
def view(request: pytest.FixtureRequest) -> View:
    """The version of cgroups that the machine shows."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="session")
def gpu_master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a master is for all clusters; agents and frameworks come and go."""
    address = f"127.0.0.1:{free_port()}"
    master = build_master(address, tmp_path_factory.mktemp("gpu-master"), new_mark())
    master.start()
    master.expect(" listens on ")
    yield address
    master.kill()


@pytest.fixture
def start_gpu_cluster(view: View, gpu_master: str, start_gpu_machine: StartGpuMachine) -> Iterator[StartGpuCluster]:
    """Starts an agent: its flags, and the keyword arguments of GpuMachine and GpuCluster."""
    started: list[GpuCluster] = []

    def start(*flags: str, isolation: str | None = None, master: str = "", **machine: Any) -> GpuCluster:
        options = {} if isolation is None else {"isolation": isolation}
        machine_here = start_gpu_machine(view=view, **machine)
        cluster = GpuCluster(machine_here, *flags, master=master or gpu_master, **options)
        started.append(cluster)
        cluster.start()
        return cluster

    yield start
    for cluster in started:
        cluster.stop()
