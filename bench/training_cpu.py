"""How much of a core our own parts use while tasks train: launcher, master, agent, fork server and supervisors."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import daemons
from tables import Row, print_table

TRAINING = "examples/mnist/mnist_replica.py"
WINDOW_S = 15.0
WANTED_CORE = 0.02
SETTLING_S = 12.0  # TensorFlow has been loaded and the workers make steps


def start_job() -> subprocess.Popen[bytes]:
    wiring = ["--ps_hosts", "{ps_hosts}", "--worker_hosts", "{worker_hosts}"]
    wiring += ["--job_name", "{job_name}", "--worker_index", "{task_index}", "--train_steps", "1000000"]
    command = [daemons.program("tfrun"), "-w", "2", "-s", "1", "--", sys.executable, TRAINING, *wiring]
    environment = daemons.clean_environment()
    return subprocess.Popen(command, cwd=daemons.ROOT, env=environment, stdout=subprocess.DEVNULL)


def is_task(pid: int) -> bool:
    return TRAINING.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()


def used_s(pids: list[int]) -> dict[int, float]:
    return {pid: daemons.cpu_s(pid) for pid in pids}


def main() -> None:
    job = start_job()
    try:
        time.sleep(SETTLING_S)
        below = daemons.descendants(job.pid)[1:]
        tasks = [pid for pid in below if is_task(pid)]
        ours = [job.pid, *(pid for pid in below if pid not in tasks)]
        if not tasks:
            raise SystemExit("no task is running")
        before, begin = used_s(ours + tasks), time.perf_counter()
        time.sleep(WINDOW_S)
        after, took_s = used_s(ours + tasks), time.perf_counter() - begin
    finally:
        job.send_signal(signal.SIGINT)
        job.wait()
    share = sum(after[pid] - before[pid] for pid in ours) / took_s
    training = sum(after[pid] - before[pid] for pid in tasks) / took_s
    rows = [("the goal", WANTED_CORE, 1.0), ("the tasks' own computing", training, WANTED_CORE)]
    print_table(
        [
            Row(
                measure=f"our {len(ours)} processes while {len(tasks)} tasks train",
                ours=share,
                reference=value,
                reference_name=name,
                unit="core",
                goal=goal,
            )
            for name, value, goal in rows
        ]
    )


if __name__ == "__main__":
    main()
