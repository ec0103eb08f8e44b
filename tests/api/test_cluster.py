"""cluster() on the embedded cluster: what a block gets, how it ends, and that nothing is left."""

import asyncio
import contextlib
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli.programs import Workplace, wait_until
from tfmesos import Cluster, Job, JobFailed, cluster
from tfmesos.errors import TfmesosError

FOREVER = "sleep 1000"
SERVE = [
    sys.executable,
    "-c",
    "import os, socket, time\n"
    "port = os.environ['TFMESOS_WORKER_HOSTS'].split(',')[int(os.environ['TFMESOS_TASK_INDEX'])].rpartition(':')[2]\n"
    "server = socket.create_server(('127.0.0.1', int(port)))\n"
    "time.sleep(1000)\n",
]


@pytest.fixture
def workplace(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workplace]:
    place = Workplace(tmp_path_factory.mktemp("w"))
    for name in set(os.environ) - set(place.environment()):
        monkeypatch.delenv(name)
    for name, value in place.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(place.home)
    threads = threading.active_count()
    yield place
    place.wait_empty()
    assert threading.active_count() == threads


def ports(running: Cluster) -> set[str]:
    return {task.address.rpartition(":")[2] for task in running.tasks}


def test_the_block_has_running_tasks_and_their_addresses(workplace: Workplace) -> None:
    with cluster([Job("ps", 1, cmd=FOREVER), Job("worker", 2, cmd=FOREVER)], quiet=True) as c:
        tasks = {(task.job, task.index): task for task in c.tasks}

        assert set(tasks) == {("ps", 0), ("worker", 0), ("worker", 1)}
        assert {task.state for task in tasks.values()} == {"TASK_RUNNING"}
        assert c.targets["/job:worker/task:1"] == f"grpc://{tasks['worker', 1].address}"
        assert c.cluster_spec == {
            "ps": [tasks["ps", 0].address],
            "worker": [tasks["worker", 0].address, tasks["worker", 1].address],
        }
        assert not c.finished()
        wait_until(lambda: len(workplace.find(FOREVER)) >= 3, "the commands run")

    assert not workplace.find(FOREVER)


def test_who_waits_for_the_docker_engine_is_told(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that hears nothing from the engine until the user has been told, and then gives up."""
    told, client = workplace.directory / "told", workplace.directory / "docker"
    client.write_text(f"#!/bin/sh\nuntil test -e {told}; do sleep 0.02; done\necho no engine >&2; exit 1\n")
    client.chmod(0o755)
    monkeypatch.setenv("MESOS_DOCKER", str(client))
    monkeypatch.setattr("tfmesos.api.hosted._SILENCE_S", 0.1)
    screen = SimpleNamespace(write=told.write_text, flush=lambda: None)
    monkeypatch.setattr(sys, "stderr", screen)

    refused = pytest.raises(TfmesosError, match="the Docker engine cannot be used: no engine")
    with refused, cluster(Job("worker", 1, cmd=FOREVER), containerizer_type="DOCKER", image="tf:1"):
        pass

    assert told.read_text().startswith("waiting for the Docker engine to answer (log: /")


def test_the_address_is_the_tasks_own(workplace: Workplace) -> None:
    with cluster(Job("worker", 2, cmd=SERVE), quiet=True) as c:
        for task in c.tasks:
            host, _, port = task.address.rpartition(":")
            wait_until(lambda: can_connect(host, int(port)), f"{task.target} listens")  # noqa: B023


def can_connect(host: str, port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((host, port), 1):
        return True
    return False


def test_a_role_may_start_later_than_zero(workplace: Workplace) -> None:
    with cluster(Job("worker", 3, cmd=FOREVER, start=1), quiet=True) as c:
        addresses = {task.index: task.address for task in c.tasks}

        assert sorted(addresses) == [1, 2]
        assert c.cluster_spec == {"worker": addresses}


def test_a_job_that_ends_well(workplace: Workplace) -> None:
    with cluster(Job("worker", 2, cmd="true"), quiet=True) as c:
        assert c.wait(60)
        assert c.finished()


def test_a_wait_may_have_an_end(workplace: Workplace) -> None:
    with cluster(Job("worker", 1, cmd=FOREVER), quiet=True) as c:
        assert c.wait(0.01) is False


def test_a_shell_line_and_a_list(workplace: Workplace, capfd: pytest.CaptureFixture[str]) -> None:
    jobs = [Job("a", 1, cmd="echo $((1+1))"), Job("worker", 1, cmd=["echo", "$((1+1))"])]
    with cluster(jobs) as c:
        c.wait(60)

    assert sorted(capfd.readouterr().out.splitlines()) == ["[a:0] 2", "[worker:0] $((1+1))"]


def test_quiet_shows_nothing(workplace: Workplace, capfd: pytest.CaptureFixture[str]) -> None:
    with cluster(Job("worker", 1, cmd="echo out; echo err >&2"), quiet=True) as c:
        c.wait(60)

    assert tuple(capfd.readouterr()) == ("", "")


def test_a_failure_is_raised_at_the_next_use(workplace: Workplace) -> None:
    with pytest.raises(JobFailed), cluster(Job("worker", 2, cmd="exit 5"), quiet=True) as c:  # noqa: PT012
        with pytest.raises(JobFailed) as caught:
            c.wait(60)
        for use in (c.finished, lambda: c.targets, lambda: c.cluster_spec):
            with pytest.raises(JobFailed):
                use()

    assert caught.value.exit_status == 5
    assert caught.value.failure is not None
    assert caught.value.failure.job == "worker"


def test_a_failure_is_raised_at_the_end_of_the_block(workplace: Workplace) -> None:
    with pytest.raises(JobFailed), cluster(Job("worker", 1, cmd="exit 5"), quiet=True) as c:
        wait_until(lambda: not workplace.find("exit 5") and c._ended.is_set(), "the task fails")


def test_a_failure_is_raised_in_place_of_the_error_it_caused(workplace: Workplace) -> None:
    job = Job("worker", 1, cmd="exit 5")
    with pytest.raises(JobFailed) as caught, cluster(job, quiet=True) as c:  # noqa: PT012
        wait_until(c._ended.is_set, "the task fails")
        raise ConnectionError("the server is gone")

    assert isinstance(caught.value.__cause__, ConnectionError)


def test_the_blocks_own_error_goes_through(workplace: Workplace) -> None:
    with pytest.raises(ZeroDivisionError), cluster(Job("worker", 1, cmd=FOREVER), quiet=True):
        raise ZeroDivisionError


def test_ctrl_c_in_the_block_ends_the_tasks(workplace: Workplace) -> None:
    with pytest.raises(KeyboardInterrupt), cluster(Job("worker", 1, cmd=FOREVER), quiet=True):  # noqa: PT012
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)

    assert not workplace.find(FOREVER)


def test_the_death_of_the_embedded_cluster_is_raised(workplace: Workplace) -> None:
    job = Job("worker", 1, cmd=FOREVER)
    with pytest.raises(JobFailed) as caught, cluster(job, quiet=True) as c:  # noqa: PT012
        (child,) = workplace.find("-m tfmesos.local")
        os.kill(child, signal.SIGKILL)
        c.wait(60)

    assert re.match(r"the embedded cluster \(process \d+\) was killed by signal 9", str(caught.value))


def test_two_clusters_at_once_share_no_port(workplace: Workplace) -> None:
    jobs = Job("worker", 5, cpus=0.1, mem=10, cmd=FOREVER)
    with cluster(jobs, quiet=True) as one, cluster(jobs, quiet=True) as other:
        assert len(ports(one) | ports(other)) == 10


def test_one_after_the_other(workplace: Workplace) -> None:
    for _ in range(2):
        with cluster(Job("worker", 1, cmd="true"), quiet=True) as c:
            c.wait(60)


def test_from_several_threads(workplace: Workplace) -> None:
    ended: list[bool] = []

    def run() -> None:
        with cluster(Job("worker", 1, cmd="true"), quiet=True) as c:
            ended.append(c.wait(60))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert ended == [True, True]


async def test_in_a_running_loop_as_in_a_notebook(workplace: Workplace) -> None:
    assert asyncio.get_running_loop().is_running()

    with cluster(Job("worker", 1, cmd="true"), quiet=True) as c:
        assert c.wait(60)


def test_the_process_is_left_as_it_was(workplace: Workplace) -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)]
    loggers = list(logging.getLogger().handlers), list(logging.getLogger("tfmesos").handlers)

    with cluster(Job("worker", 1, cmd="true"), quiet=True) as c:
        c.wait(60)

    assert handlers == [
        signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)
    ]
    assert loggers == (list(logging.getLogger().handlers), list(logging.getLogger("tfmesos").handlers))


def test_nothing_is_left_when_the_program_ends_without_leaving_the_block(workplace: Workplace) -> None:
    script = (
        "from tfmesos import Job, cluster\n"
        f"block = cluster(Job('worker', 1, cmd='{FOREVER}'), quiet=True)\n"
        "c = block.__enter__()\n"
        "print('up', flush=True)\n"
        "import os; os._exit(3)\n"
    )

    result = workplace.run(sys.executable, "-c", script)

    assert (result.status, result.output) == (3, "up\n"), result
    workplace.wait_empty()


def test_a_process_forked_in_the_block_may_leave_it(workplace: Workplace) -> None:
    script = (
        "import os, sys\n"
        "from tfmesos import Job, cluster\n"
        "with cluster(Job('worker', 1, cmd='sleep 1000'), quiet=True) as c:\n"
        "    child = os.fork()\n"
        "    if not child: sys.exit(4)\n"
        "    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), c.finished(), c.tasks[0].state)\n"
    )

    result = workplace.run(sys.executable, "-c", script)

    assert (result.status, result.output) == (0, "4 False TASK_RUNNING\n"), result


def test_an_import_starts_nothing_and_is_quick(workplace: Workplace) -> None:
    script = "import sys, threading, tfmesos; print(threading.active_count(), 'asyncio' in sys.modules)"

    assert workplace.run(sys.executable, "-c", script).output == "1 False\n"


def test_the_run_stays_in_the_state_directory(workplace: Workplace) -> None:
    with cluster(Job("worker", 1, cmd="echo kept"), quiet=True) as c:
        c.wait(60)

    (run,) = (workplace.state / "tfmesos" / "runs").iterdir()
    assert re.fullmatch(rf"\d{{8}}-\d{{6}}-{os.getpid()}", run.name)
    assert "kept\n" in {path.read_text() for path in run.rglob("stdout")}
    assert Path(run / "cluster.log").stat().st_size > 0


def test_the_examples_of_the_readme_import_from_the_top() -> None:
    script = "from tfmesos import Cluster, Job, JobFailed, cluster"

    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
