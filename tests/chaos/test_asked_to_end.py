"""Every other way to end a job leaves nothing either: Ctrl-C once and twice, SIGTERM, a closed terminal."""

from __future__ import annotations

import signal
import time

import pytest

from tests.chaos.conftest import TASKS, StartRun, start_job

GRACE_S = 3.0
"""Of a task that does not ask for another (Mesos 1.11)."""


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["INT", "TERM", "HUP"],
)
def test_asked_once(start_run: StartRun, number: signal.Signals, status: int) -> None:
    # given a job whose tasks are deaf to SIGTERM
    run = start_job(start_run, 1000)
    run.expect("task is ready", TASKS)
    run.traces.note()
    # when the launcher is asked to end
    asked = time.monotonic()
    run.process.send_signal(number)
    # then the tasks had their grace, and the launcher ends with the signal's status soon after, with nothing left
    assert run.process.wait(30) == status
    assert time.monotonic() - asked >= GRACE_S
    assert run.traces.wait_gone(2.0) == []
    assert "Traceback" not in run.read_rest(1.0)


def test_asked_twice(start_run: StartRun) -> None:
    run = start_job(start_run, 1000)
    run.expect("task is ready", TASKS)
    run.traces.note()
    asked = time.monotonic()
    run.process.send_signal(signal.SIGINT)
    run.expect("once more ends them at once")  # two signals at once would be one
    run.process.send_signal(signal.SIGINT)
    assert run.process.wait(30) == 130
    took_s = time.monotonic() - asked
    assert run.traces.wait_gone(2.0) == []
    assert "Traceback" not in run.read_rest(1.0)
    assert took_s < GRACE_S
