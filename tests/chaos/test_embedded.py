"""kill -9 of each part of a job on the embedded cluster, alone: within 10 s nothing is left of it."""

from __future__ import annotations

import os
import random
import signal
import time

import pytest

from tests.chaos.conftest import TASKS, TREE, Run, StartRun, start_job
from tests.chaos.traces import wait_for_process

PARTS = {
    "launcher": "tfmesos.cli.tfrun",
    "embedded cluster": "tfmesos.local",
    "fork server": "tfmesos-forks",
    "supervisor": "tfmesos-superv",
}


def find(run: Run, part: str) -> int:
    if part == "launcher":
        return run.process.pid
    return wait_for_process(run.mark, PARTS[part], but_not=run.process.pid)


@pytest.mark.parametrize("part", PARTS)
def test_a_running_job_leaves_nothing(start_run: StartRun, part: str) -> None:
    # given a job that runs
    run = start_job(start_run, 1000)
    run.expect("task is ready", TASKS)
    victim = find(run, part)
    run.traces.note()
    assert len(run.traces.pidfds) > TASKS * 5
    # when one part is killed
    os.kill(victim, signal.SIGKILL)
    # then within 10 s nothing of the run is left
    assert run.traces.wait_gone(10.0) == []
    # and the launcher, if it could, ended with a failure and told why
    text = run.read_rest(1.0)
    if part == "launcher":
        assert run.process.wait() == -signal.SIGKILL
    else:
        assert run.process.wait() > 0
        assert "Traceback" not in text
        assert "lost" in text or "killed" in text


@pytest.mark.parametrize("part", PARTS)
def test_a_starting_job_leaves_nothing(start_run: StartRun, part: str) -> None:
    # given a job that is about to run, and would end soon
    run = start_job(start_run, 2)
    victim = find(run, part)
    delay_s = random.uniform(0.0, 0.6)
    time.sleep(delay_s)
    run.traces.note()
    # when one part is killed at that moment
    os.kill(victim, signal.SIGKILL)
    # then nothing of the run is left; a fork server lost before it was needed is replaced, and the job runs
    text = run.read_rest(30.0)
    assert run.traces.wait_gone(10.0) == [], f"killed {delay_s:.3f} s after it was there"
    assert "Traceback" not in text
    assert run.process.wait() != 0 or part == "fork server"


def test_a_job_with_a_local_worker_leaves_nothing(start_run: StartRun) -> None:
    # given a job whose first worker is a child of the launcher with its terminal
    run = start_run(
        "tfrun", "-w", "2", "-s", "1", "--local-worker", "--worker-logs", "*", "--", "sh", "-c", f"{TREE}sleep 1000"
    )
    run.expect("task is ready", TASKS)
    run.traces.note()
    # when the launcher is killed
    os.kill(run.process.pid, signal.SIGKILL)
    # then within 10 s nothing of the run is left
    assert run.traces.wait_gone(10.0) == []
