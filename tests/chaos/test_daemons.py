"""kill -9 of a part while a job runs on a master and an agent of ours as daemons."""

from __future__ import annotations

import os
import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.chaos.conftest import TASKS, TREE, Run, StartRun, new_mark
from tests.chaos.traces import name_of, processes_with, wait_for_process


@dataclass
class Cluster:
    """A master, an agent, a job that runs on them."""

    master: Run
    agent: Run
    job: Run

    def tasks(self) -> dict[int, str]:
        """Marked processes that are neither of the three programs nor the fork server."""
        programs = {run.process.pid for run in (self.master, self.agent, self.job)}
        names = {pid: name_of(pid) for pid in processes_with(self.job.mark) if pid not in programs}
        return {pid: name for pid, name in names.items() if name not in ("", "tfmesos-forks")}


@pytest.fixture
def cluster(start_run: StartRun, tmp_path: Path) -> Cluster:
    mark = new_mark()
    master = start_run("mesos_master", "--ip=127.0.0.1", "--port=0", f"--work_dir={tmp_path}/master", mark=mark)
    master.expect(" listens on ")
    address = re.search(r"127\.0\.0\.1:\d+", master.output.decode())
    assert address is not None
    agent = start_run(
        "mesos_agent", f"--master={address[0]}", "--port=0", f"--work_dir={tmp_path}/agent",
        "--resources=cpus:8;mem:16384;ports:[21000-21100]", mark=mark,
    )  # fmt: skip
    agent.expect(" registered with ")
    wanted = ("-m", address[0], "-w", "2", "-s", "1", "--worker-logs", "*", "--env", mark)
    job = start_run("tfrun", *wanted, "--", "sh", "-c", f"{TREE}sleep 1000", mark=mark)
    job.expect("task is ready", TASKS)
    return Cluster(master, agent, job)


def test_the_launcher(cluster: Cluster) -> None:
    # given a job that runs
    assert len(cluster.tasks()) > TASKS * 3
    # when its launcher is killed
    os.kill(cluster.job.process.pid, signal.SIGKILL)
    # then its tasks are gone within 10 s; master and agent go on
    wait_for_no_task(cluster)
    assert cluster.master.process.poll() is None
    assert cluster.agent.process.poll() is None


def test_the_agent(cluster: Cluster) -> None:
    os.kill(cluster.agent.process.pid, signal.SIGKILL)
    cluster.job.process.send_signal(signal.SIGINT)
    wait_for_no_task(cluster)


@pytest.mark.parametrize("name", ["tfmesos-forks", "tfmesos-superv"])
def test_a_part_of_the_agent(cluster: Cluster, name: str) -> None:
    # when the fork server or a supervisor is killed
    os.kill(wait_for_process(cluster.job.mark, name), signal.SIGKILL)
    # then the job fails and nothing of it is left; the agent can run the next one
    wait_for_no_task(cluster)
    assert cluster.job.process.wait(20) == 1
    assert "lost" in cluster.job.read_rest(1.0)
    assert cluster.agent.process.poll() is None


def wait_for_no_task(cluster: Cluster) -> None:
    deadline = time.monotonic() + 10.0
    while (left := cluster.tasks()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == {}
