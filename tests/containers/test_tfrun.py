"""`tfrun --image`: a parameter server and two workers, with both containerizers, and at a stock Apache Mesos master."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.conftest import StockMaster
from tests.containers.cluster import Executed, ImageCluster, run_program
from tests.containers.conftest import REPLICA, REPLICA_ARGUMENTS, StartImageCluster
from tests.dockerd import Dockerd


def run_job(cluster: ImageCluster, folder: Path, *more: str) -> Executed:
    """The program comes by a volume."""
    (folder / "job.py").write_text(REPLICA)
    words = ["-m", cluster.address, "-w", "2", "-s", "1", "-Mw", "64", "-Ms", "64", "--image", "python:3"]
    volume = ["-V", f"{folder}:/job:ro"]
    return run_program("tfrun", *words, *volume, *more, "--", "python3", "/job/job.py", *REPLICA_ARGUMENTS)


def assert_succeeded(result: Executed) -> None:
    assert result.status == 0, result.text
    lines = result.text.splitlines()
    for index in range(2):
        assert f"[worker:{index}] {index} was told 42 in /mnt/mesos/sandbox with GPUs: 0" in lines


def test_with_the_mesos_containerizer(start_image_cluster: StartImageCluster, tmp_path: Path) -> None:
    cluster = start_image_cluster()
    assert_succeeded(run_job(cluster, tmp_path))
    assert cluster.wait_nothing_left() == []


def test_with_the_docker_containerizer(
    start_image_cluster: StartImageCluster, dockerd: Dockerd, python_archive: Path, tmp_path: Path
) -> None:
    dockerd.run("load", "--input", python_archive)
    cluster = start_image_cluster(engine=dockerd)
    assert_succeeded(run_job(cluster, tmp_path, "-C", "DOCKER"))
    assert cluster.wait_nothing_left() == []


@pytest.mark.stock
@pytest.mark.timeout(180)
def test_at_a_stock_master(
    stock_master: StockMaster, start_image_cluster: StartImageCluster, dockerd: Dockerd, tmp_path: Path
) -> None:
    cluster = start_image_cluster("--hostname=127.0.0.1", master=stock_master.address, engine=dockerd)
    assert_succeeded(run_job(cluster, tmp_path))
    assert cluster.agent.kill(signal.SIGUSR1) == 0  # the master, which other tests have, too, forgets it
    assert cluster.wait_nothing_left() == []
