"""Custom executors whose tasks come and go at random: after each step every node is tried from inside (G3).

TFMESOS_GPU_EXAMPLES=100 runs longer.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.gpu.cluster import GpuCluster
from tests.gpu.conftest import StartGpuCluster
from tests.gpu.framework import GpuFramework, gpu_framework
from tfmesos.wire import mesos_pb2

CARDS = 4
EXAMPLES = int(os.environ.get("TFMESOS_GPU_EXAMPLES", "4"))
PROGRAM = Path(__file__).parents[1] / "agent" / "custom_executor.py"
pytestmark = pytest.mark.timeout(120 + 20 * EXAMPLES)


@dataclass(frozen=True)
class Grow:
    """One more task; the executor is started for the first."""

    executor: int
    gpus: int


@dataclass(frozen=True)
class Shrink:
    """One task ends: the one at this place, modulo."""

    executor: int
    at: int


@dataclass(frozen=True)
class Kill:
    """The executor is killed, from outside, with all its tasks."""

    executor: int


Step = Grow | Shrink | Kill
slots = st.integers(0, 1)
steps = st.lists(
    st.one_of(
        st.builds(Grow, slots, st.integers(0, 2)),
        st.builds(Grow, slots, st.integers(1, 2)),
        st.builds(Shrink, slots, st.integers(0, 3)),
        st.builds(Kill, slots),
    ),
    min_size=4,
    max_size=12,
)


@dataclass
class Running:
    """An executor that runs. `tasks`: their cards, as far as these are known."""

    id: str
    pid: int
    own: int
    gpus: dict[str, int] = field(default_factory=dict)
    cards: dict[str, frozenset[str]] = field(default_factory=dict)


class Play:
    """Carries steps out, and looks at all nodes after each."""

    def __init__(self, cluster: GpuCluster, framework: GpuFramework, directory: Path, own: int) -> None:
        self._cluster = cluster
        self._framework = framework
        self._directory = directory
        self._own = own
        self._numbers = itertools.count()
        self._running: dict[int, Running] = {}

    async def step(self, step: Step) -> None:
        match step:
            case Grow():
                await self._grow(step)
            case Shrink():
                await self._shrink(step)
            case Kill():
                await self._kill(step)
        await self._framework.wait_offers(gpus=CARDS - sum(map(total, self._running.values())))
        self._check()

    async def end(self) -> None:
        for slot in list(self._running):
            await self._kill(Kill(slot))
        await self._framework.wait_offers(gpus=CARDS)

    async def _grow(self, step: Grow) -> None:
        executor = self._running.get(step.executor)
        needed = step.gpus + (self._own if executor is None else 0)
        if needed > self._framework.gpus_offered:
            return
        before = frozenset() if executor is None else self._opens(executor)
        id_ = f"executor-{next(self._numbers)}" if executor is None else executor.id
        task = self._framework.task(f"task-{next(self._numbers)}", gpus=step.gpus)
        task.executor.CopyFrom(self._executor(id_))
        await self._framework.launch(task)
        await self._framework.wait_running(task.task_id.value)
        if executor is None:
            pid = int((self._directory / id_).read_text())
            executor = self._running[step.executor] = Running(id_, pid, self._own)
        executor.gpus[task.task_id.value] = step.gpus
        after = self._opens(executor)
        assert before <= after, f"growing took {before - after}"
        if before or not self._own:
            executor.cards[task.task_id.value] = after - before

    async def _shrink(self, step: Shrink) -> None:
        executor = self._running.get(step.executor)
        if executor is None or not executor.gpus:
            return
        before = self._opens(executor)
        task_id = list(executor.gpus)[step.at % len(executor.gpus)]
        await self._framework.kill(task_id)
        await self._framework.wait_ended(task_id)
        after = self._opens(executor)  # at once: whoever hears of the end may count on it
        assert after <= before
        assert len(before - after) == executor.gpus.pop(task_id)
        expected = executor.cards.pop(task_id, before - after)
        assert before - after == expected, f"{task_id} had {expected}, {before - after} was taken"

    async def _kill(self, step: Kill) -> None:
        executor = self._running.pop(step.executor, None)
        if executor is None:
            return
        os.kill(executor.pid, signal.SIGKILL)
        await self._framework.wait_ended(*executor.gpus)

    def _check(self) -> None:
        opened = [self._opens(executor) for executor in self._running.values()]
        assert list(map(len, opened)) == list(map(total, self._running.values()))
        assert sum(map(len, opened)) == len(frozenset().union(*opened)), f"a card is in two containers: {opened}"
        cards = {card.node: card.uuid for card in self._cluster.machine.cards}
        uuids = [sorted(cards[node] for node in nodes) for nodes in opened if nodes]
        assert sorted(self._cluster.held().values()) == sorted(uuids)
        assert self._framework.launch_failures() == []

    def _opens(self, executor: Running) -> frozenset[str]:
        return self._cluster.machine.cards_open(executor.pid)

    def _executor(self, id_: str) -> mesos_pb2.ExecutorInfo:
        info = self._framework.executor(id_, mesos_pb2.ExecutorInfo.CUSTOM, gpus=self._own)
        info.command.value = f"echo $$ > {self._directory}/{id_}; exec {sys.executable} -I {PROGRAM}"
        return info


def total(executor: Running) -> int:
    return executor.own + sum(executor.gpus.values())


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a shorter sequence would take as long again to find
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(sequence=steps, own=st.integers(0, 1))
def play(cluster: GpuCluster, directory: Path, sequence: Sequence[Step], own: int) -> None:
    async def carry_out() -> None:
        async with gpu_framework(cluster.address) as framework:
            await framework.wait_offers(gpus=CARDS)
            play = Play(cluster, framework, directory, own)
            for step in sequence:
                await play.step(step)
            await play.end()

    asyncio.run(carry_out())


def test_what_opens_is_what_the_tasks_have(start_gpu_cluster: StartGpuCluster, tmp_path: Path) -> None:
    cluster = start_gpu_cluster(cards=CARDS)
    play(cluster, tmp_path)
    assert cluster.held() == {}
    assert cluster.wait_no_cgroup() == []
