"""All that watches over containers with GPUs is killed in one instant: agent, fork server, supervisors."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.gpu.cluster import GpuCluster
from tests.gpu.conftest import StartGpuCluster
from tests.gpu.framework import gpu_framework
from tests.supervision.conftest import Tree

CARDS = 2
FORKS_AWAY = "trap '' TERM; (setsid sh -c 'trap \"\" TERM; sleep 1000 & sleep 1000' &); sleep 1000"


@pytest.mark.parametrize("checkpoint", [False, True])
async def test_their_gpus_are_offered_again_when_nothing_of_them_is_left(
    start_gpu_cluster: StartGpuCluster, checkpoint: bool
) -> None:
    cluster = start_gpu_cluster(cards=CARDS)
    async with gpu_framework(cluster.address, checkpoint=checkpoint) as framework:
        # given all GPUs in use by a task whose processes have left its session
        await framework.wait_offers(gpus=CARDS)
        await framework.launch(framework.task("task", FORKS_AWAY, gpus=CARDS))
        await framework.wait_running("task")
        (pid,) = cluster.pids().values()
        tree = Tree().add_below(supervisor := _parent_of(pid))
        # when all that could end them is killed at once, and another agent starts
        _kill_at_once(cluster, supervisor)
        assert tree.left()
        cluster.agent.start()
        # then its GPUs are offered, and the next task opens them, when none of its processes is left
        await framework.wait_ended("task")
        await framework.wait_offers(gpus=CARDS)
        assert tree.left() == []
        await framework.launch(framework.task("next", "sleep 1000", gpus=CARDS))
        await framework.wait_running("next")
        (pid,) = cluster.pids().values()
        assert len(cluster.machine.cards_open(pid)) == CARDS
        await framework.kill("next")
    tree.close()


def _kill_at_once(cluster: GpuCluster, supervisor: int) -> None:
    watchers = (_parent_of(supervisor), supervisor)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in watchers:
            os.kill(pid, number)
    cluster.agent.kill()


def _parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
