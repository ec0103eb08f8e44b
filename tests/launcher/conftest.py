"""A cluster of our own master and agent in the test's own loop."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tfmesos.agent import Agent, AgentFlags
from tfmesos.discovery import build_detector
from tfmesos.flags import load_flags
from tfmesos.launcher import Job, JobFailed, JobRun, Outcome, RunOptions, Stream
from tfmesos.master import Master, MasterFlags


@dataclass
class Written:
    """A sink that remembers."""

    output: dict[Stream, bytes] = field(default_factory=lambda: dict.fromkeys(Stream, b""))
    notes: list[str] = field(default_factory=list)
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    async def write_log(self, stream: Stream, data: bytes) -> None:
        self.output[stream] += data
        self._more.set()

    async def wait_for(self, text: str) -> None:
        """Wait until this was written to stdout."""
        while text not in self.output[Stream.STDOUT].decode():
            self._more.clear()
            await asyncio.wait_for(self._more.wait(), 20)

    def write_note(self, text: str) -> None:
        self.notes.append(text)

    @property
    def lines(self) -> list[str]:
        return sorted(self.output[Stream.STDOUT].decode().splitlines())


@dataclass
class Cluster:
    """Where the master is, and a way to run jobs there."""

    address: str
    directory: Path
    written: Written = field(default_factory=Written)

    def run(self, *jobs: Job, **options: object) -> JobRun:
        values: dict[str, object] = {"framework_name": "test", "inherited": os.environb, "directory": None, **options}
        made = RunOptions(jobs=jobs, **values)  # type: ignore[arg-type]
        return JobRun(made, build_detector(self.address), output=self.written)


async def outcome_of(run: JobRun) -> Outcome:
    """Run a job to its end, whether it fails before all of its tasks run or later."""
    with contextlib.suppress(JobFailed):
        await run.start()
    return await run.wait_finished()


StartCluster = Callable[..., Awaitable[Cluster]]


@pytest.fixture
async def start_cluster(tmp_path: Path) -> AsyncIterator[StartCluster]:
    """Start a master and one agent for each text of resources."""
    started: list[Master | Agent] = []

    async def start(*resources: str) -> Cluster:
        master = Master(load_flags(MasterFlags, ["--port=0", f"--work_dir={tmp_path}/master"], {}))
        await master.start()
        started.append(master)
        for number, text in enumerate(resources):
            flags = ["--port=0", f"--work_dir={tmp_path}/agent{number}", f"--resources={text}"]
            agent = Agent(
                load_flags(AgentFlags, [*flags, f"--master={master.address}", "--ip=127.0.0.1"], {}),
                detector=build_detector(str(master.address)),
            )
            await agent.start()
            started.append(agent)
        return Cluster(str(master.address), tmp_path)

    yield start
    for one in reversed(started):
        await one.close()


@pytest.fixture
async def cluster(start_cluster: StartCluster) -> Cluster:
    """One agent with enough of everything."""
    return await start_cluster("cpus:16;mem:16384;ports:[25000-25999]")
