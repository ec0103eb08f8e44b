"""The embedded cluster's process: its start, its failures, its end."""

import asyncio
import os
import re
import signal
import sys
from pathlib import Path

import pytest

import tfmesos.local.cluster
from tests.cli.programs import Workplace, wait_until
from tfmesos.client import MasterClient
from tfmesos.discovery import build_detector
from tfmesos.local import LocalCluster, LocalClusterDied, LocalClusterError, LocalNeeds

NEEDS = LocalNeeds(cpus=0.1, mem_mb=32, ports=3)


@pytest.fixture
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    return Workplace(tmp_path_factory.mktemp("w"))


async def agents(cluster: LocalCluster) -> list[dict[str, object]]:
    detector = build_detector(cluster.master)
    leader = await detector.detect(None)
    async with MasterClient(leader.address) as client:
        state = await client.get_json("/slaves")
    await detector.close()
    assert isinstance(state, dict)
    return list(state["slaves"])


async def wait_agents(cluster: LocalCluster) -> list[dict[str, object]]:
    async with asyncio.timeout(10):
        while not (found := await agents(cluster)):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return found


async def test_it_offers_the_machine_ports_and_no_gpus(workplace: Workplace) -> None:
    async with await LocalCluster.start(NEEDS, workplace.environment()) as cluster:
        (agent,) = await wait_agents(cluster)
        resources = agent["resources"]
        assert isinstance(resources, dict)
        assert resources["cpus"] == len(os.sched_getaffinity(0))
        assert resources["gpus"] == 0
        numbers = [int(word) for word in re.findall(r"\d+", str(resources["ports"]))]
        assert sum(high - low + 1 for low, high in zip(numbers[::2], numbers[1::2], strict=True)) == 3
        assert agent["hostname"] == "127.0.0.1"
        assert Path(cluster.work_dir).parent == workplace.state / "tfmesos" / "runs"
    workplace.wait_empty()


async def test_only_the_user_can_enter(workplace: Workplace) -> None:
    async with await LocalCluster.start(NEEDS, workplace.environment()) as cluster:
        directory = Path(cluster.master.removeprefix("unix://")).parent

        assert directory.stat().st_mode & 0o077 == 0
        assert {path.name for path in directory.iterdir()} >= {"master.sock", "agent.sock"}


async def test_nothing_secret_is_on_its_command_line(workplace: Workplace) -> None:
    async with await LocalCluster.start(NEEDS, workplace.environment()) as cluster:
        (command,) = [text for pid, text in workplace.marked().items() if pid == cluster.pid]

        assert command.removeprefix(f"{sys.executable} ").split() == ["-P", "-m", "tfmesos.local"]
        assert os.getsid(cluster.pid) == cluster.pid


async def test_closing_again_does_nothing(workplace: Workplace) -> None:
    cluster = await LocalCluster.start(NEEDS, workplace.environment())

    await cluster.close()
    await cluster.close()

    workplace.wait_empty()


async def test_one_that_does_not_answer_is_killed(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tfmesos.local.cluster, "CLOSE_TIMEOUT_S", 0.1)
    cluster = await LocalCluster.start(NEEDS, workplace.environment())
    os.kill(cluster.pid, signal.SIGSTOP)

    await cluster.close()

    workplace.wait_empty()


async def test_its_death_is_told_with_the_end_of_its_log(workplace: Workplace) -> None:
    async with await LocalCluster.start(NEEDS, workplace.environment()) as cluster:
        os.kill(cluster.pid, 9)

        async with asyncio.timeout(10):
            death = await cluster.wait_died()

        assert isinstance(death, LocalClusterDied)
        assert str(death).startswith(f"the embedded cluster (process {cluster.pid}) was killed by signal 9 (Killed)")
        assert f"{cluster.work_dir}/cluster.log" in str(death)
        assert any("tfmesos.master" in line for line in death.last_lines)
    workplace.wait_empty()


async def test_a_child_that_ends_as_it_starts_is_told_with_its_log(workplace: Workplace) -> None:
    (workplace.home / "aiohttp.py").write_text("raise SystemExit('no aiohttp today')\n")

    with pytest.raises(LocalClusterError) as caught:
        await LocalCluster.start(NEEDS, workplace.environment(PYTHONPATH=str(workplace.home)))

    assert re.match(r"the embedded cluster \(process \d+\) ended with status 1 as it started", str(caught.value))
    assert "no aiohttp today" in str(caught.value)
    assert caught.value.exit_status == 69
    workplace.wait_empty()


async def test_a_cluster_without_enough_ports_is_told(workplace: Workplace) -> None:
    needs = LocalNeeds(cpus=0.1, mem_mb=32, ports=100_000)

    with pytest.raises(LocalClusterError, match=r"cannot start the embedded cluster: the job needs 100000 free ports"):
        await LocalCluster.start(needs, workplace.environment())

    workplace.wait_empty()


async def test_a_start_that_is_given_up_leaves_nothing(workplace: Workplace) -> None:
    start = asyncio.create_task(LocalCluster.start(NEEDS, workplace.environment()))
    await asyncio.to_thread(wait_until, lambda: workplace.find("-m tfmesos.local"), "the child runs")

    start.cancel()
    await asyncio.wait({start})

    assert start.cancelled()
    workplace.wait_empty()


async def test_old_runs_are_removed_as_it_starts(workplace: Workplace) -> None:
    runs = workplace.state / "tfmesos" / "runs"
    for number in range(12):
        (runs / f"20000101-0000{number:02}-1").mkdir(parents=True)

    async with await LocalCluster.start(NEEDS, workplace.environment()):
        await asyncio.to_thread(wait_until, lambda: len(list(runs.iterdir())) == 10, "the oldest are gone")
    assert not (runs / "20000101-000000-1").exists()


async def test_old_runs_are_removed_where_it_cannot_start(workplace: Workplace) -> None:
    runs = workplace.state / "tfmesos" / "runs"
    for number in range(12):
        (runs / f"20000101-0000{number:02}-1").mkdir(parents=True)

    with pytest.raises(LocalClusterError) as caught:
        await LocalCluster.start(LocalNeeds(cpus=0.1, mem_mb=32, ports=100_000), workplace.environment())

    assert len(list(runs.iterdir())) == 10
    assert Path(str(caught.value.log_path)).parent in runs.iterdir()


async def test_a_run_that_never_began_leaves_no_directory(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(workplace.home / "no-python"))

    with pytest.raises(LocalClusterError, match="cannot start the embedded cluster"):
        await LocalCluster.start(NEEDS, workplace.environment())

    assert list((workplace.state / "tfmesos" / "runs").iterdir()) == []
    workplace.wait_empty()
