"""What becomes of a job whose tasks have an image, when not all is well, and what is left of it: nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.containers.cluster import ISOLATION, Executed, ImageCluster, run_program
from tests.containers.conftest import StartImageCluster
from tests.images import busybox_image
from tests.registry import FakeRegistry


def tfrun(cluster: ImageCluster, image: str, *words: str) -> Executed:
    return run_program("tfrun", "-m", cluster.address, "-Mw", "64", "--image", image, *words)


def test_an_image_that_is_not_there_ends_the_job(
    start_image_cluster: StartImageCluster, fake_registry: FakeRegistry
) -> None:
    # Given a registry without the image
    cluster = start_image_cluster(f"--docker_registry=http://{fake_registry.host}")
    # When a job wants it
    ended = tfrun(cluster, "no/such:1", "-w", "1", "--", "true")
    # Then its last block says which, where and why
    assert ended.status == 1
    (said,) = [line for line in ended.text.splitlines() if "TASK_FAILED (" in line]
    assert "TASK_FAILED (REASON_CONTAINER_LAUNCH_FAILED, SOURCE_AGENT)" in said
    assert "'no/such:1'" in said
    assert fake_registry.host in said
    assert "manifest unknown" in said
    assert cluster.wait_nothing_left() == []


def test_a_slow_pull_is_waited_for(start_image_cluster: StartImageCluster, fake_registry: FakeRegistry) -> None:
    # Given a registry that keeps back what it has
    fake_registry.put(busybox_image(), "slow:1")
    fake_registry.gate.clear()
    cluster = start_image_cluster(f"--docker_registry=http://{fake_registry.host}")
    words = ["-m", cluster.address, "-w", "2", "-Mw", "64", "--image", "slow:1", "--", "true"]
    with subprocess.Popen(
        [sys.executable, "-m", "tfmesos.cli.tfrun", *words], stderr=subprocess.PIPE, text=True
    ) as job:
        # When a job waits for it longer than is worth a word
        assert job.stderr is not None
        word = next(line for line in job.stderr if "pulling" in line)
        fake_registry.gate.set()
        rest = job.stderr.read()
    # Then it has said so, and goes on when the image is there: busybox has no python3
    assert "pulling image 'slow:1' on localhost: 2 tasks wait for it" in word
    assert "has no python3, which TFMesos needs to start a task" in rest
    # And both tasks had one pull
    layers = [asked for asked in fake_registry.asked if "/blobs/" in asked.path]
    assert len(layers) == len({asked.path for asked in layers})


def test_out_of_memory_is_said(start_image_cluster: StartImageCluster) -> None:
    cluster = start_image_cluster(f"--isolation={ISOLATION},cgroups/mem")
    greedy = "kept = bytearray(200 << 20)"
    ended = tfrun(cluster, "python:3", "-w", "1", "--", "python3", "-c", greedy)
    assert ended.status != 0
    assert "REASON_CONTAINER_LIMITATION_MEMORY" in ended.text
    assert "out of memory" in ended.text
    assert "-Mw" in ended.text
    assert cluster.wait_nothing_left() == []


DAEMONS = """
import os, signal, sys, time
for number in range(2):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            open(f"/left/{os.getpid()}", "w").close()
            time.sleep(1000)
        os._exit(0)
while sum(name.isdigit() for name in os.listdir("/left")) < 4:
    time.sleep(0.02)
"""


def test_what_tasks_leave_ends_with_them(start_image_cluster: StartImageCluster, tmp_path: Path) -> None:
    # Given a job whose tasks leave daemons behind that nothing but SIGKILL ends
    cluster = start_image_cluster()
    # When the tasks end
    ended = tfrun(cluster, "python:3", "-w", "2", "-V", f"{tmp_path}:/left", "--", "python3", "-c", DAEMONS)
    # Then nothing of them runs: each has written down the pid that it has on this machine
    assert ended.status == 0, ended.text
    assert cluster.wait_nothing_left() == []
    pids = [int(file.name) for file in tmp_path.iterdir()]
    assert len(pids) == 4
    assert [pid for pid in pids if _is_daemon(pid)] == []


def _is_daemon(pid: int) -> bool:
    try:
        return b"/left/" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return False


def test_every_line_of_every_task_is_shown(start_image_cluster: StartImageCluster) -> None:
    cluster = start_image_cluster()
    program = "for i in range(1000): print('line', i)"
    ended = tfrun(cluster, "python:3", "-w", "3", "--", "python3", "-c", program)
    assert ended.status == 0, ended.text
    wanted = [f"[worker:{index}] line {number}" for index in range(3) for number in range(1000)]
    assert sorted(line for line in ended.text.splitlines() if "] line " in line) == sorted(wanted)
    assert sorted(len(text.splitlines()) for text in cluster.outputs()) == [1000, 1000, 1000]
