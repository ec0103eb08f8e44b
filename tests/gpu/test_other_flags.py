"""An agent that is started with another --isolation while containers go on keeps its word, or does not start."""

from __future__ import annotations

from pathlib import Path

from tests.gpu.conftest import StartGpuCluster
from tests.gpu.framework import gpu_framework

COUNTS = "posix/gpus"


async def test_who_only_counts_gpus_takes_over_no_container_that_may_open_its_own_alone(
    start_gpu_cluster: StartGpuCluster,
) -> None:
    cluster = start_gpu_cluster(cards=2)
    async with gpu_framework(cluster.address, checkpoint=True) as framework:
        # given a container with rules of devices
        await framework.launch(framework.task("task", "exec sleep 1000", gpus=1))
        await framework.wait_running("task")
        (pid,) = cluster.pids().values()
        # when the next agent could not let it open others
        cluster.agent.kill()
        cluster.restart_agent("--launcher=posix", isolation=COUNTS)
        # then that does not start, and the container goes on
        assert cluster.agent.process is not None
        assert cluster.agent.process.wait(60) == 1
        assert f"{COUNTS} allows no others; start the agent with its old --isolation" in cluster.agent.log()
        assert Path(f"/proc/{pid}").exists()  # noqa: ASYNC240
        # and either remedy helps
        cluster.restart_agent()
        cluster.agent.expect(" registered with ")
        assert list(cluster.pids().values()) == [pid]
        cluster.agent.kill()
        cluster.restart_agent("--launcher=posix", "--recover=cleanup", isolation=COUNTS)
        assert cluster.agent.process.wait(60) == 0
        assert not Path(f"/proc/{pid}").exists()  # noqa: ASYNC240
        assert cluster.machine.cgroups_left() == []


async def test_who_uses_no_cgroup_removes_those_of_the_containers_that_go_on(
    start_gpu_cluster: StartGpuCluster,
) -> None:
    cluster = start_gpu_cluster(isolation="cgroups/devices")
    async with gpu_framework(cluster.address, checkpoint=True) as framework:
        await framework.launch(framework.task("task", "exec sleep 1000"))
        await framework.wait_running("task")

        cluster.agent.kill()
        cluster.restart_agent("--launcher=posix", isolation="posix/cpu")
        cluster.agent.expect(" registered with ")
        await framework.kill("task")
        await framework.wait_ended("task")

        assert cluster.wait_no_cgroup(0) == []
