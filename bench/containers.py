"""What a container costs: from its launch until it runs, and until nothing of `true` is left, against `runc run` alone.

One agent's containerizer runs all kinds, and they take turns: all are measured in the same moments.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import daemons
from tables import Row, print_table

from tfmesos.agent import AgentFlags
from tfmesos.agent.assembly import build_containerizer
from tfmesos.agent.containerizer import ContainerConfig, ContainerId, Containerizer, ContainerKind
from tfmesos.metrics import Metrics
from tfmesos.wire import mesos_pb2

sys.path.insert(0, str(daemons.ROOT))
from tests.dockerd import Dockerd, missing_for_dockerd
from tests.images import busybox_image, saved_v1_archive

ROUNDS = 30
AT_ONCE = 20
IMAGE = "bench/box:1"
TRUE = ("/bin/true",)
WHATS = ("start", "whole life")


@dataclass(frozen=True)
class Times:
    """Seconds until a container runs, and until nothing of it is left."""

    start_s: float
    whole_s: float


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of container, as a task says it."""

    name: str
    container: mesos_pb2.ContainerInfo | None = None


def with_volume() -> mesos_pb2.ContainerInfo:
    container = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.MESOS)
    container.volumes.add(host_path="/usr", container_path="usr", mode=mesos_pb2.Volume.RO)
    return container


def with_image() -> mesos_pb2.ContainerInfo:
    container = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.MESOS)
    container.mesos.image.type = mesos_pb2.Image.DOCKER
    container.mesos.image.docker.name = IMAGE
    return container


def with_docker() -> mesos_pb2.ContainerInfo:
    container = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.DOCKER)
    container.docker.image = IMAGE
    container.docker.network = mesos_pb2.ContainerInfo.DockerInfo.HOST
    return container


HOST = Kind("host")
VOLUME = Kind("host with a volume", with_volume())
PICTURE = Kind("image", with_image())
DOCKER = Kind("Docker", with_docker())


class Bench:
    """Containers of one containerizer, and of `runc run`."""

    def __init__(self, containerizer: Containerizer, folder: Path) -> None:
        self._containerizer = containerizer
        self._folder = folder

    async def run(self, kind: Kind) -> Times:
        name = uuid.uuid4().hex
        command = mesos_pb2.CommandInfo(shell=False, value=TRUE[0], arguments=[*TRUE])
        if kind is DOCKER:
            del command.arguments[:]
        config = ContainerConfig(
            id=ContainerId(name),
            kind=ContainerKind.STANDALONE,
            command=command,
            directory=str(self._folder / "sandboxes" / name),
            container=kind.container,
        )
        begin = time.perf_counter()
        container = await self._containerizer.launch(config)
        await container.open_gate()
        await container.wait_running()
        started = time.perf_counter()
        termination = await container.wait()
        ended = time.perf_counter()
        if termination.wait_status != 0:
            raise SystemExit(f"a container of {kind.name} did not end well: {termination}")
        return Times(started - begin, ended - begin)

    async def run_at_once(self, kind: Kind) -> float:
        """Seconds until all are gone."""
        begin = time.perf_counter()
        await asyncio.gather(*(self.run(kind) for _ in range(AT_ONCE)))
        return time.perf_counter() - begin


class Alone:
    """Containers of a program's command line."""

    def __init__(self, argv: Sequence[str | Path]) -> None:
        """The command line, with the container's name to follow."""
        self._argv = argv

    def __str__(self) -> str:
        return "`docker run`" if self._argv[0] == "sh" else "`runc run`"

    def run(self, number: int = 1) -> float:
        """Seconds of so many at once."""
        begin = time.perf_counter()
        running = [subprocess.Popen([*self._argv, uuid.uuid4().hex], stdin=subprocess.DEVNULL) for _ in range(number)]
        if [process for process in running if process.wait() != 0]:
            raise SystemExit(f"{self._argv[0]} did not end well")
        return time.perf_counter() - begin


def by_runc(folder: Path) -> Alone:
    """In a root that is there already."""
    bundle = folder / "bundle"
    (bundle / "rootfs/bin").mkdir(parents=True)
    busybox = shutil.which("busybox")
    assert busybox is not None
    shutil.copy(busybox, bundle / "rootfs/bin/true")
    subprocess.run(["runc", "spec", "--bundle", bundle], check=True)
    config = json.loads((bundle / "config.json").read_text())
    config["process"] |= {"terminal": False, "args": list(TRUE), "rlimits": []}
    del config["hostname"]
    config["linux"]["namespaces"] = [{"type": "mount"}]
    (bundle / "config.json").write_text(json.dumps(config))
    return Alone(["runc", "--root", folder / "state", "run", "--bundle", bundle])


def by_docker(engine: Dockerd) -> Alone:
    script = f'docker -H unix://{engine.socket} run --rm --net=host --name "$1" {IMAGE} {TRUE[0]}'
    return Alone(["sh", "-c", script, "sh"])


async def measure(bench: Bench, references: Mapping[Kind, Alone]) -> list[Row]:
    """`references`: what each kind is measured against."""
    kinds = list(references)
    first = await bench.run(PICTURE)
    for kind in kinds:
        await bench.run(kind)
    alone: dict[Alone, list[float]] = {reference: [] for reference in references.values()}
    found: dict[Kind, list[Times]] = {kind: [] for kind in kinds}
    for number in range(ROUNDS):
        for reference, times in alone.items():
            times.append(await asyncio.to_thread(reference.run))
        turn = number % len(kinds)  # none is always the first
        for kind in (*kinds[turn:], *kinds[:turn]):
            found[kind].append(await bench.run(kind))
    rows = []
    for kind, reference in references.items():
        alone_s = statistics.median(alone[reference])
        rows += [_row(f"{what}: {kind.name}", median(found[kind], what), alone_s, str(reference)) for what in WHATS]
    rows.append(_row("second start of an image", median(found[PICTURE], WHATS[0]), first.start_s, "the first one", 0.5))
    for kind, reference in references.items():
        at_once_s = await bench.run_at_once(kind)
        alone_s = await asyncio.to_thread(reference.run, AT_ONCE)
        rows.append(_row(f"{AT_ONCE} at once: {kind.name}", at_once_s, alone_s, f"{AT_ONCE} times {reference}"))
    return rows


def median(times: Sequence[Times], what: str) -> float:
    return statistics.median(each.start_s if what == WHATS[0] else each.whole_s for each in times)


def _row(measure: str, ours_s: float, reference_s: float, reference_name: str, goal: float = 2) -> Row:
    return Row(
        measure=measure,
        ours=ours_s * 1000,
        reference=reference_s * 1000,
        reference_name=reference_name,
        unit="ms",
        goal=goal,
    )


async def measure_all(folder: Path, engine: Dockerd | None) -> list[Row]:
    (folder / "archives/bench").mkdir(parents=True)
    image = busybox_image(environment=("PATH=/bin",))
    saved_v1_archive(folder / "archives" / f"{IMAGE}.tar", image, IMAGE)
    flags = AgentFlags(
        master="none",
        work_dir=str(folder / "work"),
        isolation="filesystem/linux,docker/runtime",
        image_providers=("DOCKER",),
        docker_registry=str(folder / "archives"),
        docker_store_dir=str(folder / "store"),
        cgroups_root=f"bench-{uuid.uuid4().hex[:12]}",
        fetcher_cache_dir=str(folder / "cache"),
        switch_user=False,
    )
    (folder / "runc").mkdir()
    references = dict.fromkeys((HOST, VOLUME, PICTURE), by_runc(folder / "runc"))
    if engine is not None:
        engine.load(image, IMAGE)
        flags = dataclasses.replace(flags, containerizers=("docker", "mesos"), docker_socket=str(engine.socket))
        references[DOCKER] = by_docker(engine)
    containerizer = await build_containerizer(flags, Metrics())
    await containerizer.start()
    try:
        return await measure(Bench(containerizer, folder), references)
    finally:
        await containerizer.close(end_detached=True)


def main() -> None:
    missing = missing_for_dockerd()
    with tempfile.TemporaryDirectory(prefix="tfmesos-bench-") as directory:
        folder = Path(directory)
        (folder / "dockerd").mkdir()
        engine = Dockerd(folder / "dockerd") if missing is None else None
        try:
            print_table(asyncio.run(measure_all(folder, engine)))
        finally:
            if engine is not None:
                engine.stop()
    if missing is not None:
        print(f"\nwithout Docker: {missing}")


if __name__ == "__main__":
    main()
