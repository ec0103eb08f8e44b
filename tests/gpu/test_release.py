"""When a card is free again: not before nobody can still have it."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random

from tests.agent.waiting import eventually
from tests.chaos.traces import command_of
from tests.gpu.conftest import StartGpuCluster, one_view
from tests.gpu.framework import gpu_framework
from tests.gpu_machine import Description
from tfmesos.wire import mesos_pb2

PROGRAM = Path(__file__).parents[1] / "agent" / "custom_executor.py"
TASKS = 60
HOLD = """
import glob, os, sys, time
held = [os.open(path, os.O_PATH) for path in glob.glob("/dev/nvidia[0-9]")]
while not os.path.exists(sys.argv[1]):
    time.sleep(0.02)
"""
"""No driver lets a fake node be opened: a descriptor for its path alone shows in /proc like one that holds it."""


async def test_a_card_is_not_offered_while_its_node_is_held_open(
    start_gpu_cluster: StartGpuCluster, tmp_path: Path
) -> None:
    cluster = start_gpu_cluster(cards=2)
    release = tmp_path / "release"
    (tmp_path / "hold.py").write_text(HOLD)
    async with gpu_framework(cluster.address) as framework:
        # given an executor one of whose processes holds what its task was given
        executor = framework.executor("holds", mesos_pb2.ExecutorInfo.CUSTOM)
        hold = f"{sys.executable} -I -S {tmp_path}/hold.py {release} &"
        executor.command.value = f"{hold} exec {sys.executable} -I {PROGRAM}"
        task = framework.task("task", gpus=1)
        task.executor.CopyFrom(executor)
        await framework.wait_offers(gpus=2)
        await framework.launch(task)
        await framework.wait_running("task")
        await framework.wait_offers(gpus=1)
        (pid,) = cluster.pids().values()
        assert len(cluster.machine.cards_open(pid)) == 1
        # when the task ends
        await framework.kill("task")
        await eventually(lambda: not cluster.machine.cards_open(pid))
        # then nobody is told before the node is let go
        assert not framework.has_ended("task")
        assert framework.gpus_offered == 1
        release.touch()
        await framework.wait_ended("task")
        await framework.wait_offers(gpus=2)


async def test_what_an_agent_that_starts_anew_finds_is_ended_first(start_gpu_cluster: StartGpuCluster) -> None:
    cluster = start_gpu_cluster(cards=2)
    async with gpu_framework(cluster.address, checkpoint=True) as framework:
        await framework.wait_offers(gpus=2)
        await framework.launch(framework.task("old", "trap '' TERM; while :; do sleep 1000; done", gpus=2))
        await framework.wait_running("old")
        (pid,) = cluster.pids().values()

        # when an agent takes its place that shall not take over
        cluster.agent.kill()
        cluster.restart_agent("--recover=cleanup")
        assert cluster.agent.process is not None
        assert await asyncio.to_thread(cluster.agent.process.wait, 20) == 0

        # then nothing is left, and the next has all cards
        assert command_of(pid) == []
        assert cluster.wait_no_cgroup() == []
        cluster.restart_agent()
        await asyncio.to_thread(cluster.agent.expect, " registered with ")
        assert cluster.held() == {}
        await framework.wait_offers(gpus=2)


async def test_no_launch_finds_too_few_cards_after_an_offer(start_gpu_cluster: StartGpuCluster) -> None:
    cluster = start_gpu_cluster(cards=4)
    names = count()
    async with gpu_framework(cluster.address) as framework:
        # when every card that is offered is used at once, and some tasks are killed before they run
        while (first := next(names)) < TASKS:
            await framework.until(lambda: framework.gpus_offered > 0)
            more = [next(names) for _ in range(framework.gpus_offered - 1)]
            tasks = [framework.task(f"task-{name}", "sleep 0.02", gpus=1) for name in (first, *more)]
            await framework.launch(*tasks)
            if first % 3 == 0:
                await framework.kill(tasks[0].task_id.value)
        await framework.wait_offers(gpus=4)
        # then none has failed
        assert {states[-1] for states in map(framework.states, framework.statuses)} <= {"TASK_FINISHED", "TASK_KILLED"}
        assert cluster.held() == {}


async def test_no_executor_finds_too_few_cards_after_an_offer(start_gpu_cluster: StartGpuCluster) -> None:
    """Executors grow by whatever is offered; their tasks end by themselves, or are killed at any moment."""
    cluster = start_gpu_cluster(cards=2)
    random = Random(4)
    async with gpu_framework(cluster.address) as framework:
        for number in range(TASKS // 2):
            await framework.until(lambda: framework.gpus_offered > 0)
            task = framework.task(f"task-{number}", gpus=random.randint(1, framework.gpus_offered))
            task.data = random.choice([b"finish", b"wait"])
            task.executor.CopyFrom(framework.executor(f"executor-{number % 3}", mesos_pb2.ExecutorInfo.CUSTOM))
            task.executor.command.value = f"exec {sys.executable} -I {PROGRAM}"
            await framework.launch(task)
            if task.data == b"wait":
                await asyncio.sleep(random.uniform(0, 0.03))
                await framework.kill(task.task_id.value)
        await framework.wait_ended(*framework.statuses)
        assert framework.launch_failures() == []
        await framework.wait_offers(gpus=2)


@one_view
async def test_cards_of_a_framework_that_was_torn_down_are_waited_for(start_gpu_cluster: StartGpuCluster) -> None:
    cluster = start_gpu_cluster("--executor_shutdown_grace_period=3secs", cards=2)
    async with gpu_framework(cluster.address) as first:
        await first.wait_offers(gpus=2)
        await first.launch(first.task("old", "trap '' TERM; while :; do sleep 1000; done", gpus=2))
        await first.wait_running("old")
        (old,) = cluster.pids().values()

    # a master counts them as free at once
    async with gpu_framework(cluster.address) as second:
        await second.wait_offers(gpus=2)
        assert command_of(old)
        await second.launch(second.task("new", "exec sleep 1000", gpus=2))
        await second.wait_running("new")
        assert command_of(old) == []


@one_view
async def test_an_agent_that_lacks_the_card_of_a_task_says_so_and_the_task_goes_on(
    start_gpu_cluster: StartGpuCluster,
) -> None:
    cluster = start_gpu_cluster(cards=1)
    (card,) = cluster.machine.cards
    async with gpu_framework(cluster.address, checkpoint=True) as framework:
        await framework.wait_offers(gpus=1)
        await framework.launch(framework.task("old", "exec sleep 1000", gpus=1))
        await framework.wait_running("old")
        (pid,) = cluster.pids().values()

        # when there is another card in its place for the next agent
        cluster.agent.kill()
        cluster.machine.describe(Description(cards=(replace(card, uuid="GPU-other"),)))
        cluster.restart_agent()
        assert cluster.agent.process is not None
        assert await asyncio.to_thread(cluster.agent.process.wait, 20) == 1
        assert f"{card.uuid} is no GPU of this agent" in cluster.agent.log().splitlines()[-1]

        # then the task has its card, and so it is told when the card is there again
        assert len(cluster.machine.cards_open(pid)) == 1
        cluster.machine.describe(Description(cards=(card,)))
        cluster.restart_agent()
        await asyncio.to_thread(cluster.agent.expect, " registered with ")
        assert [*cluster.held().values()] == [[card.uuid]]
