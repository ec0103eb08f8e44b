"""kill -9 of a part while a job runs on a master and an agent of ours as daemons."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.chaos.conftest import TASKS, TREE, Run, StartRun, new_mark
from tests.chaos.traces import name_of, processes_with, wait_for_process
from tests.ports import free_port


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


class Daemons:
    """A master and an agent that can be started again where they were."""

    def __init__(self, start_run: StartRun, directory: Path) -> None:
        self._start_run = start_run
        self._directory = directory
        self.mark = new_mark()
        self._port, self._agent_port = free_port(), free_port()
        self.address = f"127.0.0.1:{self._port}"
        self.master = self.start_master()
        self.agent = self.start_agent()

    def start_master(self) -> Run:
        where = ("--ip=127.0.0.1", f"--port={self._port}", f"--work_dir={self._directory}/master")
        self.master = self._start_run("mesos_master", *where, mark=self.mark)
        self.master.expect(" listens on ")
        return self.master

    def start_agent(self) -> Run:
        self.agent = self._start_run(
            "mesos_agent", f"--master={self.address}", f"--port={self._agent_port}",
            f"--work_dir={self._directory}/agent",
            "--resources=cpus:8;mem:16384;ports:[21000-21100]", mark=self.mark,
        )  # fmt: skip
        self.agent.expect("registered with ")
        return self.agent

    def start_job(self, *options: str, script: str) -> Run:
        wanted = ("-m", self.address, "-w", "2", "-s", "1", "--worker-logs", "*", "--env", self.mark, *options)
        return self._start_run("tfrun", *wanted, "--", "sh", "-c", script, mark=self.mark)


@pytest.fixture
def daemons(start_run: StartRun, tmp_path: Path) -> Daemons:
    return Daemons(start_run, tmp_path)


@pytest.fixture
def cluster(daemons: Daemons) -> Cluster:
    job = daemons.start_job(script=f"{TREE}sleep 1000")
    job.expect("task is ready", TASKS)
    return Cluster(daemons.master, daemons.agent, job)


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


WAITS = 'echo task is ready; until [ -e "{go}" ]; do sleep 0.1; done; echo task is done'
"""Until a file is there: the parts are shot at while it waits."""


EACH_OTHER = """
: > "{go}.$TFMESOS_JOB_NAME.$TFMESOS_TASK_INDEX"
until [ "$(ls "{go}".* | wc -l)" -eq {tasks} ]; do sleep 0.1; done
"""
"""A ps is stopped with the last worker's end, whatever it still has to say: nobody ends before all have said it."""


@pytest.mark.parametrize("lost", ["master", "agent", "both"])
def test_a_job_goes_on_over_restarts(daemons: Daemons, tmp_path: Path, lost: str) -> None:
    # given a job whose tasks outlive their agent
    go = tmp_path / "go"
    script = (WAITS + EACH_OTHER).format(go=go, tasks=TASKS)
    job = daemons.start_job("--checkpoint", "--no-placeholders", script=script)
    job.expect("task is ready", TASKS)
    # when a part is killed and started again
    for part in ("agent", "master") if lost == "both" else (lost,):
        os.kill(getattr(daemons, part).process.pid, signal.SIGKILL)
        getattr(daemons, part).process.wait()
    if lost != "agent":
        daemons.start_master()
    if lost != "master":
        daemons.start_agent()
    # then the job ends as if nothing had been, with all of its output
    go.touch()
    assert job.process.wait(60) == 0
    assert job.read_rest(5.0).count("task is done") == TASKS


def test_a_job_whose_framework_was_torn_down_meanwhile_says_so(daemons: Daemons, tmp_path: Path) -> None:
    job = daemons.start_job(script=WAITS.format(go=tmp_path / "go"))
    job.expect("task is ready", TASKS)

    with urlopen(f"http://{daemons.address}/frameworks") as answer:
        framework_id = json.load(answer)["frameworks"][0]["id"]
    urlopen(f"http://{daemons.address}/teardown", data=f"frameworkId={framework_id}".encode()).close()

    assert job.process.wait(30) == 1
    assert "torn down by operator" in job.read_rest(1.0)
