"""kill -9 of a program that uses the library: within 10 s nothing is left of its cluster."""

from __future__ import annotations

import os
import signal
import time

from tests.chaos.conftest import StartRun
from tests.chaos.traces import processes_with

PROGRAM = """
import os, time
from tfmesos import Job, cluster
command = "trap '' TERM; (setsid sleep 1000 &); echo task is ready; sleep 1000"
with cluster([Job("worker", 2, cmd=command)], master="local") as c:
    child = os.fork()
    if child == 0:
        time.sleep(1000)
    print(f"forked child {child}.", flush=True)
    c.wait()
"""


def test_a_forked_child_does_not_keep_the_cluster_alive(start_run: StartRun) -> None:
    # given a program with a cluster, and a child that it forked meanwhile, which has copies of all its descriptors
    run = start_run("-c", PROGRAM)
    run.expect("forked child")
    run.expect(".\n")
    run.expect("task is ready", 2)
    child = int(run.output.partition(b"forked child ")[2].partition(b".")[0])
    assert len(list(processes_with(run.mark))) > 8
    # when the program is killed
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait()
    # then within 10 s only the child is left
    deadline = time.monotonic() + 10.0
    while (left := set(processes_with(run.mark))) != {child} and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == {child}
