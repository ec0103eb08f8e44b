"""A task in an image that needs more memory than it has (E6, I16)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.containers.cluster import ISOLATION, run_program
from tests.containers.conftest import StartImageCluster
from tests.dockerd import Dockerd

GREEDY = "held = bytearray(300 * 2**20)"
FULL = "import mmap; f = open('/dev/shm/x', 'wb+'); f.truncate(2**26); mmap.mmap(f.fileno(), 0).write(bytes(2**26))"


@pytest.mark.cgroups
def test_out_of_memory_is_said_of_a_task_in_docker(
    start_image_cluster: StartImageCluster, dockerd: Dockerd, python_archive: Path
) -> None:
    dockerd.run("load", "--input", python_archive)
    cluster = start_image_cluster(engine=dockerd)

    words = ["-m", cluster.address, "-C", "DOCKER", "--image", "python:3", "-w", "1", "-Mw", "64"]
    result = run_program("tfrun", *words, "--", "python3", "-c", GREEDY)

    assert result.status not in (0, 2), result.text
    assert "REASON_CONTAINER_LIMITATION_MEMORY" in result.text
    assert re.search(r"^  out of memory: (used \S+ of 64MB, )?raise mem of 'worker' \(tfrun: -Mw\)$", result.text, re.M)
    assert cluster.wait_nothing_left() == []


def test_a_full_dev_shm_is_explained(start_image_cluster: StartImageCluster) -> None:
    cluster = start_image_cluster(f"--isolation={ISOLATION},namespaces/ipc")
    words = ["-m", cluster.address, "--image", "python:3", "-w", "1", "-Mw", "256"]

    small = run_program("tfrun", *words, "--shm", "1m", "--", "python3", "-c", FULL)
    large = run_program("tfrun", *words, "--shm", "128m", "--", "python3", "-c", FULL)

    assert (small.status, large.status) == (135, 0), small.text + large.text
    assert "a bus error is often a full /dev/shm: make it larger, as with --shm 2g" in small.text
