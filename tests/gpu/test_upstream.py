"""What Apache Mesos' own tests of GPUs assert, one by one (1.11: tests/containerizer/nvidia_gpu_isolator_tests.cpp).

Driven through the programs, on both versions of cgroups where that matters. Those of the volume are in tests/agent/gpu,
those of `--resources` and `--nvidia_gpu_devices` in test_flags.py, those of images and the Docker engine in
test_images.py and test_docker.py.
"""

from __future__ import annotations

from tests.gpu.conftest import StartGpuCluster, one_view
from tests.gpu.framework import gpu_framework
from tfmesos.wire import mesos_pb2

STARTED = ["TASK_STARTING", "TASK_RUNNING"]
ONE_GPU = 'test "$(nvidia-smi --list-gpus | wc -l)" -eq 1'


def test_verify_device_access(start_gpu_cluster: StartGpuCluster) -> None:
    cluster = start_gpu_cluster()

    without = cluster.execute("nvidia-smi", "cpus:0.1;mem:128")
    assert without.states == [*STARTED, "TASK_FAILED"], without.text
    assert "No devices were found" in cluster.outputs()[-1]

    with_one = cluster.execute(ONE_GPU, "cpus:0.1;mem:128;gpus:1")
    assert with_one.states == [*STARTED, "TASK_FINISHED"], with_one.text
    assert cluster.wait_no_cgroup() == []


@one_view
async def test_fractional_resources(start_gpu_cluster: StartGpuCluster) -> None:
    cluster = start_gpu_cluster("--resources=cpus:1;mem:128;gpus:1", "--nvidia_gpu_devices=0")
    async with gpu_framework(cluster.address) as framework:
        await framework.launch(framework.task("part", "true", gpus=0.1))
        await framework.wait_ended("part")

    (status,) = framework.statuses["part"]
    assert status.state == mesos_pb2.TASK_ERROR
    assert status.reason == mesos_pb2.TaskStatus.REASON_TASK_INVALID
    assert "The 'gpus' resource must be an unsigned integer" in status.message


@one_view
def test_discovery(start_gpu_cluster: StartGpuCluster) -> None:
    cluster = start_gpu_cluster("--resources=cpus:1", cards=3)
    assert cluster.get("/state")["resources"]["gpus"] == 3
    assert cluster.metric("slave/gpus_total") == 3


@one_view
async def test_allocator(start_gpu_cluster: StartGpuCluster) -> None:
    """Counts, the lowest first, nothing twice, what is freed is there again: as it shows from outside."""
    cluster = start_gpu_cluster(cards=2)
    async with gpu_framework(cluster.address) as framework:
        # given all cards in use
        await framework.wait_offers(gpus=2)
        await framework.launch(framework.task("both", "sleep 1000", gpus=2))
        await framework.wait_running("both")
        await framework.wait_offers(gpus=0)
        assert [*cluster.held().values()] == [sorted(card.uuid for card in cluster.machine.cards)]
        # when they are freed
        await framework.kill("both")
        await framework.wait_offers(gpus=2)
        assert cluster.held() == {}
        # then one at a time gets the lowest that is free: by minor, against the order of indices
        for at, name in enumerate(["first", "second"]):
            await framework.launch(framework.task(name, "nvidia-smi -L; sleep 1000", gpus=1))
            await framework.wait_running(name)
            await framework.wait_offers(gpus=1 - at)
        lowest, other = sorted(cluster.machine.cards, key=lambda card: card.minor)
        assert sorted(cluster.held().values()) == sorted([[lowest.uuid], [other.uuid]])
        # and the lowest comes back first
        await framework.kill("first")
        await framework.wait_offers(gpus=1)
        await framework.launch(framework.task("again", "sleep 1000", gpus=1))
        await framework.wait_running("again")
        assert sorted(cluster.held().values()) == sorted([[lowest.uuid], [other.uuid]])


async def test_default_executor_verify_device_access(start_gpu_cluster: StartGpuCluster) -> None:
    cluster = start_gpu_cluster()
    async with gpu_framework(cluster.address) as framework:
        executor = framework.executor("group", mesos_pb2.ExecutorInfo.DEFAULT)
        tasks = [framework.task("sees-one", ONE_GPU, gpus=1)]
        await framework.launch_group(executor, tasks)
        await framework.wait_ended("sees-one")

    assert framework.states("sees-one") == [*STARTED, "TASK_FINISHED"]
