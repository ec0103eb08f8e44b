"""Clusters with fake GPUs, on both versions of cgroups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.gpu.cluster import GpuCluster
from tests.gpu_machine import StartGpuMachine, View

StartGpuCluster = Callable[..., GpuCluster]


@pytest.fixture(params=["v1", "v2"])
def view(request: pytest.FixtureRequest) -> View:
    """The version of cgroups that the machine shows."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def start_gpu_cluster(view: View, start_gpu_machine: StartGpuMachine) -> Iterator[StartGpuCluster]:
    """Starts a cluster: flags of the agent, and the keyword arguments of GpuMachine and GpuCluster."""
    started: list[GpuCluster] = []

    def start(*flags: str, isolation: str | None = None, master: str = "", **machine: Any) -> GpuCluster:
        options = {} if isolation is None else {"isolation": isolation}
        cluster = GpuCluster(start_gpu_machine(view=view, **machine), *flags, master=master, **options)
        started.append(cluster)
        cluster.start()
        return cluster

    yield start
    for cluster in started:
        cluster.stop()
