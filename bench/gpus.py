"""What gpu/nvidia costs a container: from LAUNCH_CONTAINER until it runs, and until nothing of `true` is left.

On a fake machine with eight cards (tests/gpu_machine), on both versions of cgroups. Each kind of container has an agent
of its own, and they take turns: all are measured in the same moments.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import daemons
from tables import Row, print_table

from tfmesos.client import AgentClient
from tfmesos.resources import scalars
from tfmesos.transport import TcpAddress
from tfmesos.wire import agent_pb2, mesos_pb2

sys.path.insert(0, str(daemons.ROOT))
from tests.gpu_machine import GpuMachine, View, build_driver, missing_for_gpu_machine

ROUNDS = 60
CARDS = 8
VIEWS: tuple[View, ...] = ("v1", "v2")
GPUS = "cgroups/devices,gpu/nvidia"
RESOURCES = "cpus:16;mem:40960;disk:1024;ports:[]"


@dataclass(frozen=True)
class Kind:
    """What is measured: containers of an agent with this isolation, that ask for so many GPUs."""

    name: str
    isolation: str
    gpus: int = 0


WITHOUT = Kind("without isolators", "posix/cpu,posix/mem")
KINDS = (
    WITHOUT,
    Kind("cgroups/devices", "cgroups/devices"),
    Kind("gpu/nvidia, no GPU", GPUS),
    Kind("gpu/nvidia, 1 GPU", GPUS, 1),
    Kind("gpu/nvidia, 8 GPUs", GPUS, CARDS),
)


@dataclass(frozen=True)
class Times:
    """Seconds until the container runs, and until it has been removed."""

    start_s: float
    whole_s: float


async def measure(agent: str, name: str, gpus: int) -> Times:
    """Run one container."""
    host, _, port = agent.partition(":")
    container_id = mesos_pb2.ContainerID(value=name)
    launch = agent_pb2.Call.LaunchContainer(container_id=container_id)
    launch.command.value = "true"
    launch.resources.extend(scalars(cpus=0.1, mem=32, gpus=gpus).to_proto())
    async with AgentClient(TcpAddress(host, int(port))) as client:
        begin = time.perf_counter()
        await client.launch_container(launch)
        started = time.perf_counter()
        ended = await client.wait_container(container_id)
        if ended is None or ended.exit_status != 0:
            raise SystemExit(f"{name} did not end well: {ended}")
        await client.remove_container(container_id)
        return Times(started - begin, time.perf_counter() - begin)


async def measure_all(agents: Mapping[Kind, str]) -> dict[Kind, list[Times]]:
    """`agents`: their addresses."""
    found: dict[Kind, list[Times]] = defaultdict(list)
    for agent in agents.values():
        await measure(agent, "warm", gpus=0)
    for number in range(ROUNDS):
        turn = number % len(KINDS)  # none is always the first
        for kind in (*KINDS[turn:], *KINDS[:turn]):
            found[kind].append(await measure(agents[kind], f"bench-{number}", kind.gpus))
    return found


def rows_of(view: View, found: Mapping[Kind, list[Times]]) -> Iterator[Row]:
    starts = {kind: statistics.median(times.start_s for times in found[kind]) for kind in KINDS}
    wholes = {kind: statistics.median(times.whole_s for times in found[kind]) for kind in KINDS}
    for what, medians in (("start", starts), ("whole life", wholes)):
        for kind in KINDS[1:]:
            yield Row(
                measure=f"{view}: {what} of a container, {kind.name}",
                ours=medians[kind] * 1000,
                reference=medians[WITHOUT] * 1000,
                reference_name=WITHOUT.name,
                unit="ms",
                goal=1.5,
            )


def on_machine(view: View, directory: Path) -> list[Row]:
    driver = build_driver(directory / "driver")
    with GpuMachine(driver, directory, cards=CARDS, view=view) as machine, contextlib.ExitStack() as stack:
        agents = {}
        for kind in KINDS:
            flags = [f"--isolation={kind.isolation}", f"--cgroups_root={machine.cgroups_root}"]
            pair = daemons.running(resources=RESOURCES, agent_flags=flags, agent_through=machine.command)
            agents[kind] = stack.enter_context(pair).agent
        return list(rows_of(view, asyncio.run(measure_all(agents))))


def main() -> None:
    rows: list[Row] = []
    for view in VIEWS:
        missing = missing_for_gpu_machine(view)
        if missing is not None:
            raise SystemExit(missing)
        with tempfile.TemporaryDirectory(prefix="tfmesos-bench-") as directory:
            rows += on_machine(view, Path(directory))
    print_table(rows)


if __name__ == "__main__":
    main()
