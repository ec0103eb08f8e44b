"""kill -9 of the agent, of programs in containers, and of the docker engine, with GPUs in use: nothing is left or lost.

TFMESOS_CHAOS_ROUNDS=100 runs longer; TFMESOS_CHAOS_SEED=… repeats the choices of a run.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Literal

import pytest

from tests.cgroup_trees import pids_below
from tests.chaos.traces import processes_with
from tests.containers.cluster import ISOLATION, ImageCluster
from tests.containers.conftest import StartImageCluster
from tests.dockerd import Dockerd, StartDockerd
from tests.gpu.framework import GpuFramework, gpu_framework
from tests.gpu_machine import StartGpuMachine, View
from tests.images import cuda_image
from tfmesos.client import NotSubscribed
from tfmesos.wire import mesos_pb2

Kind = Literal["image", "docker", "volume"]

CARDS = 4
ROUNDS = int(os.environ.get("TFMESOS_CHAOS_ROUNDS", "4"))
SEED = int(os.environ.get("TFMESOS_CHAOS_SEED", "0")) or Random().randrange(1, 1 << 32)
pytestmark = pytest.mark.timeout(120 + 20 * ROUNDS)


class Play:
    """Tasks with images and GPUs that come and go; what must be true whenever nothing is under way."""

    def __init__(self, cluster: ImageCluster, engine: Dockerd, framework: GpuFramework, random: Random) -> None:
        self._cluster = cluster
        self._engine = engine
        self._framework = framework
        self._random = random
        self._numbers = itertools.count()
        self._alive: dict[str, Kind] = {}
        """Launched, and no end is known."""
        self._doomed: set[str] = set()

    async def stir(self) -> None:
        """Launch or kill, without waiting for what comes of it."""
        for _ in range(self._random.randint(1, 2)):
            if self._framework.gpus_offered and len(self._alive) < CARDS - 1:
                await self._launch(self._random.choice(("image", "docker", "volume")))
            elif alive := sorted(self._alive.keys() - self._doomed):
                await self._kill(self._random.choice(alive))

    def strike(self) -> None:
        """Kill one or two of what may be killed, and start again what a machine would start again."""
        strikes = (self._strike_agent, self._strike_program, self._strike_engine, self._strike_supervisors)
        for strike in self._random.sample(strikes, self._random.randint(1, 2)):
            strike()
        if not self._cluster.agent.is_running:
            self._cluster.start_agent()

    async def settle(self) -> None:
        """Until each task runs or has ended, and what nobody uses is offered."""
        async with asyncio.timeout(60):
            while not self._is_settled():
                with suppress(TimeoutError):
                    await self._framework.until(self._is_settled, timeout_s=0.5)
                await self._ask_again()
        try:
            await self._framework.wait_offers(gpus=CARDS - len(self._alive))
        except AssertionError as error:
            raise AssertionError(f"{error}; alive: {self._alive}") from None

    def check(self) -> None:
        """Who has which GPU, by the agent's book; each has one."""
        containers = self._cluster.get("/containers")
        held = [gpu["uuid"] for one in containers for gpu in one.get("status", {}).get("gpus", [])]
        assert len(held) == len(self._alive), f"held: {held}, alive: {self._alive}"
        assert [uuid for uuid, times in Counter(held).items() if times > 1] == []

    async def end_all(self) -> None:
        for task_id in self._alive:
            await self._kill(task_id)
        await self.settle()

    async def _launch(self, kind: Kind) -> None:
        name = f"task-{next(self._numbers)}"
        self._alive[name] = kind
        task = self._framework.task(name, "sleep 1000", gpus=1)
        task.container.CopyFrom(_container(kind))
        await self._framework.launch(task)

    async def _kill(self, task_id: str) -> None:
        self._doomed.add(task_id)
        with suppress(NotSubscribed):
            await self._framework.kill(task_id)

    def _strike_agent(self) -> None:
        self._cluster.agent.kill()

    def _strike_program(self) -> None:
        """Any process of any container, also one that only makes it or follows it: its task ends."""
        pids = pids_below(self._cluster.cgroups_root)
        if not pids:
            return
        pid = self._random.choice(pids)
        with suppress(OSError):  # it has gone by itself
            groups = Path(f"/proc/{pid}/cgroup").read_text()
            os.kill(pid, signal.SIGKILL)
            runs = self._cluster.directory.glob("agent/slaves/latest/frameworks/*/executors/*/runs/*")
            self._doomed |= {run.parent.parent.name for run in runs if run.name in groups}

    def _strike_supervisors(self) -> None:
        """All at once, and the process that forks them: nobody is left who would end what they watch over."""
        own = {
            daemon.process.pid for daemon in (self._cluster.master, self._cluster.agent) if daemon and daemon.process
        }
        for pid in set(processes_with(self._cluster.mark)) - own:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._doomed |= self._alive.keys()

    def _strike_engine(self) -> None:
        """Its containers end with it."""
        self._engine.kill()
        self._engine.start()
        self._doomed |= {name for name, kind in self._alive.items() if kind == "docker"}

    def _is_settled(self) -> bool:
        alive = self._alive.items()
        self._alive = {name: kind for name, kind in alive if not self._framework.has_ended(name)}
        return all(name not in self._doomed and self._framework.is_running(name) for name in self._alive)

    async def _ask_again(self) -> None:
        """A launch or a kill may be lost with the agent that it was sent to."""
        for task_id in self._doomed & self._alive.keys():
            await self._framework.kill(task_id)
        await self._framework.reconcile(self._alive)


def _container(kind: Kind) -> mesos_pb2.ContainerInfo:
    container = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.MESOS)
    match kind:
        case "image":
            container.mesos.image.type = mesos_pb2.Image.DOCKER
            container.mesos.image.docker.name = "tiny:1"
        case "docker":
            container.type = mesos_pb2.ContainerInfo.DOCKER
            container.docker.image = "chaos:1"
        case "volume":
            container.volumes.add(mode=mesos_pb2.Volume.RO, container_path="/mnt", host_path="/usr/share")
    return container


def wait_no_container(engine: Dockerd) -> list[str]:
    """Those that are left when none is or the time is over: what could not be removed is tried again ever later."""
    deadline = time.monotonic() + 20
    while (left := engine.containers()) and time.monotonic() < deadline:
        time.sleep(0.05)  # the agent lies outside this process
    return left


@pytest.mark.parametrize(
    ("view", "isolation"), [("v1", ISOLATION), ("v2", ISOLATION.removesuffix(",cgroups/pids"))], ids=["v1", "v2"]
)
async def test_nothing_is_left_or_lost(
    view: View,
    isolation: str,
    start_image_cluster: StartImageCluster,
    start_gpu_machine: StartGpuMachine,
    start_dockerd: StartDockerd,
) -> None:
    print(f"TFMESOS_CHAOS_SEED={SEED}")  # shown if the test fails
    random = Random(SEED)
    machine = start_gpu_machine(cards=CARDS, view=view)
    engine = start_dockerd(prefix=machine.command)
    engine.load(cuda_image(), "chaos:1")
    flags = (f"--isolation={isolation},gpu/nvidia", "--docker_remove_delay=0secs")
    cluster = start_image_cluster(*flags, engine=engine, through=machine.command)
    async with gpu_framework(cluster.address, checkpoint=True) as framework:
        play = Play(cluster, engine, framework, random)
        await framework.wait_offers(gpus=CARDS)
        for _ in range(ROUNDS):
            await play.stir()
            await asyncio.sleep(random.uniform(0.0, 0.4))
            play.strike()  # in this thread: an engine ends with the one that started it
            await play.settle()
            play.check()
        await play.end_all()
        assert cluster.wait_nothing_left() == []
        assert await asyncio.to_thread(wait_no_container, engine) == []
