"""The agent with GPUs at a stock Apache Mesos master."""

from __future__ import annotations

import signal

import pytest

from tests.conftest import StockMaster
from tests.gpu.conftest import StartGpuCluster
from tests.gpu.framework import gpu_framework

pytestmark = [pytest.mark.stock, pytest.mark.timeout(180)]

LIST = 'nvidia-smi -L && test "$CUDA_VISIBLE_DEVICES" = "$(nvidia-smi -L | sed "s/.*UUID: //; s/)//")"'


async def test_tasks_run_isolated(stock_master: StockMaster, start_gpu_cluster: StartGpuCluster) -> None:
    cluster = start_gpu_cluster("--hostname=gpus-at-stock", master=stock_master.address, cards=2)
    async with gpu_framework(stock_master.address, hostname="gpus-at-stock") as framework:
        await framework.wait_offers(gpus=2)
        tasks = [framework.task(name, LIST, gpus=1) for name in ("one", "other")]
        await framework.launch(*tasks, framework.task("none", "nvidia-smi"))
        await framework.wait_ended("one", "other", "none")

        assert framework.states("one")[-1] == "TASK_FINISHED", framework.statuses["one"]
        assert framework.states("other")[-1] == "TASK_FINISHED", framework.statuses["other"]
        assert framework.states("none")[-1] == "TASK_FAILED"
        await framework.wait_offers(gpus=2)
    assert cluster.agent.kill(signal.SIGUSR1) == 0  # the master, which other tests have, too, forgets it and its GPUs
    listed = sorted(line for text in cluster.outputs() for line in text.splitlines() if line.startswith("GPU "))
    assert [line.split()[1] for line in listed] == ["0:", "1:"]
