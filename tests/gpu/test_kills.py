"""kill -9 of the agent with GPUs in use: its book, the offers, and what opens inside each container agree each time.

TFMESOS_CHAOS_ROUNDS=100 runs longer; TFMESOS_CHAOS_SEED=… repeats the choices of a run (G3, G4, G19).
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from random import Random

import pytest

from tests.chaos.traces import command_of
from tests.dockerd import StartDockerd
from tests.gpu.cluster import GpuCluster
from tests.gpu.conftest import StartGpuCluster
from tests.gpu.framework import GpuFramework, gpu_framework
from tests.gpu.images import (
    ISOLATION,
    PLAIN,
    docker_flags,
    gpu_images,
    image_flags,
    with_docker,
    with_image,
    with_volume,
    write_archives,
)
from tests.gpu_machine import StartGpuMachine, View
from tfmesos.client import NotSubscribed
from tfmesos.wire import mesos_pb2

CARDS = 4
ROUNDS = int(os.environ.get("TFMESOS_CHAOS_ROUNDS", "6"))
SEED = int(os.environ.get("TFMESOS_CHAOS_SEED", "0")) or Random().randrange(1, 1 << 32)
pytestmark = pytest.mark.timeout(120 + 10 * ROUNDS)


EXECUTOR = "executor"
PROGRAM = Path(__file__).parents[1] / "chaos" / "load_executor.py"


class Kind(Enum):
    """Where a task runs: alone on the host, or in an image, or it is one of those of an executor, which grows by it."""

    HOST = auto()
    EXECUTOR = auto()
    IMAGE = auto()
    DOCKER = auto()


@dataclass(frozen=True)
class Launched:
    """A task."""

    id: str
    gpus: int
    kind: Kind

    @property
    def container(self) -> str:
        """Names the file with the pid of the container's program."""
        return EXECUTOR if self.kind is Kind.EXECUTOR else self.id


class Play:
    """Tasks with GPUs that come and go; what must be true of them whenever nothing is under way."""

    def __init__(
        self, cluster: GpuCluster, framework: GpuFramework, directory: Path, random: Random, kinds: Sequence[Kind]
    ) -> None:
        self._cluster = cluster
        self._framework = framework
        self._directory = directory
        self._random = random
        self._kinds = kinds
        self._numbers = itertools.count()
        self._alive: dict[str, Launched] = {}
        """Launched, and no end is known."""
        self._doomed: set[str] = set()

    async def launch(self, gpus: int, kind: Kind) -> None:
        launched = Launched(f"task-{next(self._numbers)}", gpus, kind)
        self._alive[launched.id] = launched
        is_alone = kind is not Kind.EXECUTOR
        command = self._telling_pid(launched.container, "sleep 1000" if is_alone else f"{sys.executable} {PROGRAM}")
        task = self._framework.task(launched.id, command if is_alone else "", gpus=gpus)
        if not is_alone:
            task.executor.CopyFrom(self._framework.executor(EXECUTOR, mesos_pb2.ExecutorInfo.CUSTOM))
            task.executor.command.value = command
            task.data = f"{self._directory}/notes 1000".encode()
        if kind is Kind.IMAGE:
            with_volume(with_image(task, PLAIN), self._directory)
        elif kind is Kind.DOCKER:
            with_volume(with_docker(task, PLAIN, pid="host"), self._directory)
        await self._framework.launch(task)

    async def stir(self) -> None:
        """Launch or kill, without waiting for what comes of it."""
        for _ in range(self._random.randint(0, 2)):
            if self._in_use() <= 2 and (offered := self._framework.gpus_offered):
                await self.launch(self._random.randint(1, min(2, offered)), self._random.choice(self._kinds))
            elif running := self._running():
                await self._kill(self._random.choice(running).id)

    def end_one_alone(self) -> None:
        """A program ends by itself, or what watches it is killed: perhaps while its agent is away."""
        if (running := self._running()) and self._random.random() < 0.4:
            chosen = self._random.choice(running)
            container = chosen.container
            self._doomed |= {launched.id for launched in self._alive.values() if launched.container == container}
            with suppress(ProcessLookupError):
                pid = self._pid(container)
                if chosen.kind is Kind.IMAGE and self._random.random() < 0.5:
                    pid = watcher_of(pid)
                os.kill(pid, signal.SIGKILL)

    async def settle(self) -> None:
        """Until each task runs or has ended, and what nobody uses is offered."""
        async with asyncio.timeout(30):
            while not self._is_settled():
                with suppress(TimeoutError):
                    await self._framework.until(self._is_settled, timeout_s=0.5)
                await self._ask_again()
        try:
            await self._framework.wait_offers(gpus=CARDS - self._in_use())
        except AssertionError as error:
            raise AssertionError(f"{error}; alive: {self._alive}, held: {self._cluster.held()}") from None

    async def check(self) -> None:
        """What opens inside each container, what its environment says, and the agent's book are the same cards."""
        cards = {card.node: card.uuid for card in self._cluster.machine.cards}
        found: list[list[str]] = []
        for container, gpus in self._expected().items():
            pid = self._pid(container)
            opened = sorted(cards[node] for node in self._cluster.machine.cards_open(pid))
            assert len(opened) == gpus, f"{container} has {gpus} GPUs, but {opened} open"
            if container != EXECUTOR:
                assert sorted(visible_devices(pid)) == opened
            found += [opened] if opened else []
        twice = [uuid for uuid, times in Counter(itertools.chain(*found)).items() if times > 1]
        assert not twice, f"{twice} is in two containers: {found}"
        assert sorted(self._cluster.held().values()) == sorted(found)
        assert self._cluster.metric("slave/gpus_used") == self._in_use()
        assert self._framework.launch_failures() == []

    async def end_all(self) -> None:
        for task_id in self._alive:
            await self._kill(task_id)
        await self.settle()

    def _telling_pid(self, container: str, program: str) -> str:
        file = self._directory / container
        return f"echo $$ > {file}.new; mv {file}.new {file}; PATH=/usr/bin:/bin exec {program}"

    def _in_use(self) -> int:
        return sum(launched.gpus for launched in self._alive.values())

    def _expected(self) -> Mapping[str, int]:
        """GPUs by container; an executor that has no task has none."""
        expected = Counter({launched.container: 0 for launched in self._alive.values()})
        if self._has_pid(EXECUTOR) and str(PROGRAM) in command_of(self._pid(EXECUTOR)):
            expected[EXECUTOR] = 0
        for launched in self._alive.values():
            expected[launched.container] += launched.gpus
        return expected

    def _running(self) -> list[Launched]:
        return [one for one in self._alive.values() if one.id not in self._doomed and self._is_running(one)]

    def _is_running(self, launched: Launched) -> bool:
        return self._framework.is_running(launched.id) and self._has_pid(launched.container)

    def _has_pid(self, container: str) -> bool:
        return (self._directory / container).exists()

    def _pid(self, container: str) -> int:
        return int((self._directory / container).read_text())

    async def _kill(self, task_id: str) -> None:
        self._doomed.add(task_id)
        with suppress(NotSubscribed):
            await self._framework.kill(task_id)

    def _is_settled(self) -> bool:
        alive = self._alive.items()
        self._alive = {task_id: launched for task_id, launched in alive if not self._framework.has_ended(task_id)}
        return all(task_id not in self._doomed and self._is_running(one) for task_id, one in self._alive.items())

    async def _ask_again(self) -> None:
        """A launch or a kill may be lost with the agent that it was sent to."""
        for task_id in self._doomed & self._alive.keys():
            await self._framework.kill(task_id)
        await self._framework.reconcile(self._alive)


def watcher_of(pid: int) -> int:
    """The supervisor of a container's first process. Raises ProcessLookupError."""
    try:
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except FileNotFoundError as error:
        raise ProcessLookupError(f"there is no process {pid}") from error
    if not any("tfmesos" in word for word in command_of(parent)):
        raise ProcessLookupError(f"process {pid} has no supervisor any more")
    return parent


def visible_devices(pid: int) -> list[str]:
    """CUDA_VISIBLE_DEVICES of a process."""
    variables = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(line.split("=", 1) for line in variables if line)["CUDA_VISIBLE_DEVICES"].split(",")


async def test_all_agree_after_each_kill_of_the_agent(start_gpu_cluster: StartGpuCluster, tmp_path: Path) -> None:
    cluster = start_gpu_cluster(cards=CARDS)
    await kill_again_and_again(cluster, tmp_path, ROUNDS, Kind.HOST, Kind.EXECUTOR)


async def test_all_agree_with_images_and_an_engine_after_each_kill_of_the_agent(
    view: View, gpu_master: str, start_gpu_machine: StartGpuMachine, start_dockerd: StartDockerd, tmp_path: Path
) -> None:
    machine = start_gpu_machine(view=view, cards=CARDS)
    engine = start_dockerd(prefix=machine.command)
    images = {PLAIN: gpu_images(machine.driver.try_nodes)[PLAIN]}
    engine.load(images[PLAIN], f"{PLAIN}:latest")
    flags = image_flags(write_archives(tmp_path / "archives", images), tmp_path / "store")
    cluster = GpuCluster(machine, *flags, *docker_flags(engine), isolation=ISOLATION, master=gpu_master)
    try:
        cluster.start()
        (tmp_path / "shared").mkdir()
        await kill_again_and_again(cluster, tmp_path / "shared", ROUNDS // 2, Kind.IMAGE, Kind.DOCKER)
        assert engine.run("ps", "--quiet") == ""
    finally:
        cluster.stop()


async def kill_again_and_again(cluster: GpuCluster, directory: Path, rounds: int, *kinds: Kind) -> None:
    """With tasks of these kinds."""
    print(f"TFMESOS_CHAOS_SEED={SEED}")  # shown if the test fails
    random = Random(SEED)
    async with gpu_framework(cluster.address, checkpoint=True) as framework:
        play = Play(cluster, framework, directory, random, kinds)
        for at, kind in enumerate(kinds):
            await framework.wait_offers(gpus=CARDS - at)
            await play.launch(1, kind)
        await play.settle()
        for _ in range(rounds):
            await play.stir()
            await asyncio.sleep(random.uniform(0.0, 0.15))
            cluster.agent.kill()
            play.end_one_alone()
            cluster.agent.start()
            if random.random() < 0.3:  # again, while it recovers
                await asyncio.sleep(random.uniform(0.0, 0.8))
                cluster.agent.kill()
                cluster.agent.start()
            await asyncio.to_thread(cluster.agent.expect, " registered with ")
            await play.settle()
            await play.check()
        await play.end_all()
    assert cluster.held() == {}
    assert cluster.wait_no_cgroup() == []
