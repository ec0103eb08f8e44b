"""Jobs on a stock Apache Mesos master with our agent."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.launcher.conftest import Cluster, outcome_of
from tfmesos.agent import Agent, AgentFlags
from tfmesos.discovery import build_detector
from tfmesos.flags import load_flags
from tfmesos.launcher import Job, NeverFits

pytestmark = pytest.mark.stock


@pytest.fixture
async def stock_cluster(stock_master: Any, tmp_path: Path) -> AsyncIterator[Cluster]:
    flags = ["--port=0", "--ip=127.0.0.1", f"--work_dir={tmp_path}/agent", f"--master={stock_master.address}"]
    resources = "cpus:8;mem:4096;ports:[27000-27099]"
    agent = Agent(
        load_flags(AgentFlags, [*flags, f"--resources={resources}"], {}), detector=build_detector(stock_master.address)
    )
    await agent.start()
    yield Cluster(stock_master.address, tmp_path)
    await agent.close()


async def test_a_gang_runs_on_a_stock_master(stock_cluster: Cluster) -> None:
    work = "echo {task_index} of $TFMESOS_WORKER_HOSTS"
    run = stock_cluster.run(Job("ps", 1, cpus=0.1, mem=32, cmd="sleep 100"), Job("worker", 2, mem=32, cmd=work))

    outcome = await outcome_of(run)

    hosts = ",".join(str(address) for address in run.cluster_spec["worker"])
    assert outcome.exit_status == 0, outcome.text
    assert stock_cluster.written.lines == [f"[worker:{n}] {n} of {hosts}" for n in range(2)]


async def test_a_failure_on_a_stock_master_is_told_with_its_status(stock_cluster: Cluster) -> None:
    outcome = await outcome_of(stock_cluster.run(Job("worker", 1, mem=32, cmd="echo no >&2; exit 7")))

    assert outcome.exit_status == 7
    assert outcome.failure is not None
    assert outcome.failure.last_lines == ("no",)


async def test_what_never_fits_is_said_of_a_stock_master(stock_cluster: Cluster) -> None:
    run = stock_cluster.run(Job("worker", 1, gpus=1, cmd="true"), embedded=True)

    with pytest.raises(NeverFits, match=r"needs 1 gpus, largest possible 0: no agent offers gpus"):
        await run.start()


async def test_after_kill_9_of_the_launcher_nothing_is_left(stock_cluster: Cluster, stock_master: Any) -> None:
    launcher = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tfmesos.cli.tfrun", "-m", stock_cluster.address, "-w1", "-s0", "-n", "doomed"),
        *("--", "sh", "-c", "echo $$; exec sleep 1000"),
        stdout=asyncio.subprocess.PIPE,
    )
    assert launcher.stdout is not None
    line = await asyncio.wait_for(launcher.stdout.readline(), 30)
    pid = int(line.decode().rpartition(" ")[2])

    def is_left() -> bool:
        names = [framework["name"] for framework in stock_master.get("/frameworks")["frameworks"]]
        return Path(f"/proc/{pid}").exists() or "doomed" in names

    assert is_left()
    launcher.kill()
    await launcher.wait()

    async with asyncio.timeout(10):
        while is_left():  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(0.1)
