"""Jobs on a real master and agent."""

import asyncio
import json
import os
import socket
import sys
from pathlib import Path

import pytest

from tests.launcher.conftest import Cluster, StartCluster, outcome_of
from tfmesos.client import MasterClient, MasterUnreachable
from tfmesos.discovery import build_detector
from tfmesos.launcher import ExtraConfig, Job, JobFailed, JobSpecError, NeverFits, Stream, Volume
from tfmesos.launcher.containers import ContainerOptions
from tfmesos.launcher.gang import Gang

PYTHON = sys.executable


def small(name: str, num: int, cmd: str | list[str], **more: float) -> Job:
    return Job(name, num, cpus=0.1, mem=32, cmd=cmd, **more)  # type: ignore[arg-type]


def read(*parts: str) -> str:
    return Path(*parts).read_text()


async def test_a_gang_runs_and_its_output_is_shown(cluster: Cluster) -> None:
    run = cluster.run(small("ps", 1, "sleep 100"), small("worker", 2, "echo {job_name} {task_index} of {worker_hosts}"))

    outcome = await outcome_of(run)

    hosts = ",".join(str(address) for address in run.cluster_spec["worker"])
    assert outcome.exit_status == 0
    assert cluster.written.lines == [f"[worker:{n}] worker {n} of {hosts}" for n in range(2)]
    assert [view.state for view in run.tasks] == ["TASK_KILLED", "TASK_FINISHED", "TASK_FINISHED"]


async def test_arguments_and_variables_reach_the_program_unchanged(cluster: Cluster) -> None:
    given = ["a b", "", "*", "$HOME", "it's", "x\ny", "; echo hi", "é", '{"lr":0.1}', "{} {0}"]
    show = "import sys,json,os; print(json.dumps([sys.argv[1:], os.environ['V'], os.environ['TFMESOS_TASK_INDEX']]))"
    run = cluster.run(
        small("worker", 1, [PYTHON, "-c", show, *given]), environment=(("V", "é=\n$x"), ("TFMESOS_TASK_INDEX", "mine"))
    )

    await outcome_of(run)

    assert json.loads(cluster.written.lines[0].removeprefix("[worker:0] ")) == [given, "é=\n$x", "mine"]


async def test_the_first_failure_is_told_with_its_output_and_its_log(cluster: Cluster) -> None:
    up = cluster.directory / "up"
    fail = f"until [ -e {up} ]; do sleep 0.01; done; echo ValueError: no >&2; exit 3"
    work = f"echo one; if [ {{task_index}} = 1 ]; then {fail}; fi; touch {up}; sleep 100"
    run = cluster.run(small("ps", 1, "sleep 100"), small("worker", 2, work), log_tasks=frozenset({("worker", 0)}))

    outcome = await outcome_of(run)

    assert outcome.exit_status == 3
    failure = outcome.failure
    assert failure is not None
    assert (failure.job, failure.index, failure.state) == ("worker", 1, "TASK_FAILED")
    assert failure.last_lines == ("one", "ValueError: no")
    assert read(failure.log_path, "stderr").endswith("ValueError: no\n")
    assert outcome.text.endswith("  2 other tasks were stopped by us")
    assert cluster.written.lines == ["[worker:0] one"]


async def test_large_output_arrives_whole(cluster: Cluster) -> None:
    write = "import sys; [print('%d:%d' % ({task_index}, n), 'x' * 500) for n in range(2000)]"
    run = cluster.run(small("worker", 3, [PYTHON, "-c", write]))

    await outcome_of(run)

    wanted = [f"[worker:{task}] {task}:{n} {'x' * 500}" for task in range(3) for n in range(2000)]
    assert cluster.written.lines == sorted(wanted)


async def test_the_working_directory_is_the_launchers(cluster: Cluster, tmp_path: Path) -> None:
    run = cluster.run(small("worker", 1, "pwd"), directory=str(tmp_path))
    await outcome_of(run)
    assert cluster.written.lines == [f"[worker:0] {tmp_path}"]


async def test_a_working_directory_that_is_missing_on_the_agent_is_named(cluster: Cluster) -> None:
    outcome = await outcome_of(cluster.run(small("worker", 1, "pwd"), directory="/no/where"))

    assert outcome.exit_status == 72
    assert "cannot enter the working directory /no/where on agent" in outcome.text


async def test_a_stop_kills_and_leaves_nothing(cluster: Cluster) -> None:
    run = cluster.run(small("worker", 2, "echo up; exec sleep 100"))
    await run.start()

    await run.stop()

    assert run.outcome is not None
    assert (run.outcome.exit_status, run.outcome.text) == (130, "interrupted; 2 tasks were stopped by us")
    assert {view.state for view in run.tasks} == {"TASK_KILLED"}


async def test_the_finalizer_runs_when_the_job_is_stopped(cluster: Cluster) -> None:
    config = ExtraConfig(initializer="echo one", finalizer="echo three")
    run = cluster.run(small("worker", 1, "echo two; exec sleep 100"), extra_config=config)
    await run.start()
    await cluster.written.wait_for("two")

    await run.stop()

    assert cluster.written.output[Stream.STDOUT] == b"[worker:0] one\n[worker:0] two\n[worker:0] three\n"


async def test_the_time_limit_ends_a_job(cluster: Cluster) -> None:
    run = cluster.run(small("worker", 1, "sleep 100"), time_limit_s=0.5)

    assert (await outcome_of(run)).exit_status == 124


async def test_what_can_never_fit_ends_the_start_where_that_is_wanted(cluster: Cluster) -> None:
    run = cluster.run(Job("worker", 1, cpus=99, cmd="true"), embedded=True)

    with pytest.raises(NeverFits, match="needs 99 cpus, largest possible 16") as caught:
        await run.start()
    assert caught.value.exit_status == 69


async def test_a_job_that_the_operator_tears_down_says_so(cluster: Cluster) -> None:
    run = cluster.run(small("worker", 1, "sleep 100"))
    await run.start()
    leader = await build_detector(cluster.address).detect(None)

    async with MasterClient(leader.address) as master:
        await master.teardown(run.framework_id)
    outcome = await asyncio.wait_for(run.wait_finished(), 20)

    assert outcome.exit_status == 1
    assert "torn down by operator" in outcome.text


async def test_two_agents_share_a_gang(start_cluster: StartCluster) -> None:
    cluster = await start_cluster("cpus:1;mem:1024;ports:[25000-25099]", "cpus:1;mem:1024;ports:[26000-26099]")
    run = cluster.run(Job("worker", 2, cpus=1, mem=64, cmd="echo $TFMESOS_WORKER_HOSTS"))

    outcome = await outcome_of(run)

    assert outcome.exit_status == 0
    assert sorted(int(view.address.rpartition(":")[2]) // 1000 for view in run.tasks) == [25, 26]


async def test_a_volume_that_needs_no_mount_must_only_exist(cluster: Cluster, tmp_path: Path) -> None:
    here = ContainerOptions(volumes=(Volume.parse(str(tmp_path)),))
    run = cluster.run(small("worker", 1, f"test -d {tmp_path}"), container=here)
    assert (await outcome_of(run)).exit_status == 0

    gone = ContainerOptions(volumes=(Volume.parse("/no/where"),))
    lost = cluster.run(small("worker", 1, "true"), container=gone)
    assert "the volume /no/where does not exist on agent" in (await outcome_of(lost)).text


@pytest.mark.parametrize("around", [{}, {b"TFMESOS_DISTRIBUTED": b"1", b"TF_CONFIG": b"{}"}], ids=["", "in a task"])
async def test_a_local_worker_has_a_port_and_decides(cluster: Cluster, around: dict[bytes, bytes]) -> None:
    mark = cluster.directory / "mark"
    run = cluster.run(
        small("ps", 1, "sleep 100"),
        small("worker", 2, f"test {{task_index}} = 1 || echo $TF_CONFIG > {mark}"),
        local_worker=True,
        inherited={**os.environb, **around},
    )

    outcome = await outcome_of(run)

    assert outcome.exit_status == 0, outcome.text
    config = json.loads(mark.read_text())
    assert config["task"] == {"type": "worker", "index": 0}
    assert config["cluster"]["worker"][0].startswith("127.0.0.1:")


def test_a_local_worker_needs_a_worker_0() -> None:
    with pytest.raises(JobSpecError, match="needs a job named worker"):
        Cluster("127.0.0.1:1", Path()).run(small("ps", 1, "true"), local_worker=True)


async def test_a_taken_port_is_found_out_and_another_one_used(start_cluster: StartCluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("127.0.0.1", 0)) as spare:
        ports = [server.getsockname()[1] for server in (taken, spare)]
        spare.close()
        cluster = await start_cluster("cpus:4;mem:1024;ports:[{0}-{0},{1}-{1}]".format(*ports))

        outcomes = [await outcome_of(cluster.run(small("worker", 1, "echo $TF_CONFIG"))) for _ in range(3)]

    assert [outcome.exit_status for outcome in outcomes] == [0, 0, 0]
    assert all(f":{ports[1]}" in line for line in cluster.written.lines)


async def test_a_stop_in_the_middle_of_the_start_leaves_nothing(cluster: Cluster) -> None:
    run = cluster.run(Job("worker", 1, cpus=99, mem=32, cmd="true"))
    starting = asyncio.create_task(run.start())
    await asyncio.sleep(0)

    await run.stop()

    with pytest.raises(JobFailed, match="interrupted") as caught:
        await starting
    assert caught.value.exit_status == 130


async def test_a_slow_reader_loses_nothing(cluster: Cluster) -> None:
    """The job is over long before its output is read; the run waits."""
    gate = asyncio.Event()
    write = cluster.written.write_log

    async def write_slowly(stream: Stream, data: bytes) -> None:
        await gate.wait()
        await write(stream, data)

    cluster.written.write_log = write_slowly  # type: ignore[method-assign]
    run = cluster.run(small("worker", 1, [PYTHON, "-c", "for n in range(20000): print(n)"]))
    await run.start()
    finished = asyncio.create_task(run.wait_finished())
    while run.tasks[0].state != "TASK_FINISHED":  # noqa: ASYNC110  a view has no event
        await asyncio.sleep(0.05)
    assert not finished.done()

    gate.set()
    await finished

    assert cluster.written.output[Stream.STDOUT].count(b"\n") == 20000


async def test_a_fault_of_our_own_ends_the_job_and_leaves_nothing(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(Gang, "_offers_arrived", fail)

    with pytest.raises(ExceptionGroup) as caught:
        await asyncio.wait_for(cluster.run(small("worker", 1, "true")).start(), 20)

    assert caught.group_contains(RuntimeError, match="a fault")
    leader = await build_detector(cluster.address).detect(None)
    async with MasterClient(leader.address) as master, asyncio.timeout(20):
        while (await master.get_json("/frameworks"))["frameworks"]:  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(0.02)


async def test_300_workers_each_know_all(start_cluster: StartCluster) -> None:
    cluster = await start_cluster("cpus:16;mem:16384;ports:[24000-24999]")
    job = Job("w" * 100, 300, cpus=0.01, mem=1, cmd="test ${#TF_CONFIG} -gt 5000")

    outcome = await outcome_of(cluster.run(job, quiet=True))

    assert outcome.exit_status == 0, outcome.text


async def test_no_master_is_said_with_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfmesos.launcher.run.CONNECT_TIMEOUT_S", 0.2)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"

        with pytest.raises(MasterUnreachable, match=address) as caught:
            await Cluster(address, Path()).run(small("worker", 1, "true")).start()

    assert caught.value.exit_status == 69
