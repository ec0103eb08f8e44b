"""kill -9 of the agent, or of the master, again and again while a framework works.

TFMESOS_CHAOS_ROUNDS=200 runs longer; TFMESOS_CHAOS_SEED=… repeats the choices of a run.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest

from tests.chaos.conftest import new_mark
from tests.chaos.daemons import Cluster
from tests.chaos.load import Load

ROUNDS = int(os.environ.get("TFMESOS_CHAOS_ROUNDS", "12"))
SEED = int(os.environ.get("TFMESOS_CHAOS_SEED", "0")) or Random().randrange(1, 1 << 32)
pytestmark = pytest.mark.timeout(120 + 10 * ROUNDS)


@pytest.fixture
def random() -> Random:
    print(f"TFMESOS_CHAOS_SEED={SEED}")  # shown if the test fails
    return Random(SEED)


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    cluster = Cluster(tmp_path, new_mark())
    try:
        await asyncio.to_thread(cluster.start)
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
async def load(cluster: Cluster, tmp_path: Path, random: Random) -> AsyncIterator[Load]:
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    load = Load(cluster.address, tasks, cluster.mark, random)
    running = asyncio.create_task(load.run())
    yield load
    running.cancel()
    await asyncio.wait({running})


async def test_the_agent_is_killed_again_and_again(cluster: Cluster, load: Load, random: Random) -> None:
    for number in range(ROUNDS):
        await asyncio.sleep(random.uniform(0.0, 0.6))
        cluster.agent.kill()
        await asyncio.sleep(random.choice([0.0, 0.0, 0.5]))
        cluster.agent.start()
        if number % 4:  # else it is killed again while it recovers
            await asyncio.to_thread(cluster.agent.expect, " registered with ")
    await asyncio.to_thread(cluster.agent.expect, " registered with ")

    await everything_ends_well(cluster, load)


async def test_the_master_is_killed_again_and_again(cluster: Cluster, load: Load, random: Random) -> None:
    for number in range(ROUNDS // 2):
        await asyncio.sleep(random.uniform(0.0, 0.6))
        cluster.master.kill()
        cluster.master.start()
        if number % 4:  # else it is killed again before it knows its agent
            await asyncio.to_thread(cluster.master.expect, " registered again agent ")

    await everything_ends_well(cluster, load)


async def test_both_are_killed_again_and_again(cluster: Cluster, load: Load, random: Random) -> None:
    for number in range(ROUNDS // 2):
        await asyncio.sleep(random.uniform(0.0, 0.6))
        for daemon in random.sample([cluster.master, cluster.agent], random.choice([1, 2])):
            daemon.kill()
            await asyncio.sleep(random.choice([0.0, 0.3]))
        for daemon in (cluster.master, cluster.agent):
            if not daemon.is_running:
                daemon.start()
        if number % 4:
            await asyncio.to_thread(cluster.agent.expect, " registered with ")
    await asyncio.to_thread(cluster.agent.expect, " registered with ")

    await everything_ends_well(cluster, load)


async def everything_ends_well(cluster: Cluster, load: Load) -> None:
    """Each task had one end that is true, and nothing of any is left."""
    try:
        await load.wait_all_ended(60.0)
    except TimeoutError:
        pytest.fail(f"without an end: {[(task_id, load.sent[task_id]) for task_id in load.alive]}")
    assert load.faults() == []
    await load.leave()
    await asyncio.to_thread(cluster.wait_no_framework, 15.0)  # an agent that ends before would leave what runs
    assert cluster.agent.kill(signal.SIGTERM) == 0
    assert cluster.wait_no_process(15.0) == []
    print(f"{len(load.sent)} tasks: {load.summary()}")
