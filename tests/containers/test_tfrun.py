"""`tfrun --image`: a parameter server and two workers, with both containerizers, and at a stock Apache Mesos master."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.conftest import StockMaster
from tests.containers.cluster import Executed, ImageCluster, run_program
from tests.containers.conftest import REPLICA, REPLICA_ARGUMENTS, StartImageCluster
from tests.dockerd import Dockerd
from tests.images import File, busybox_image
from tests.registry import Registry


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
        assert f"[worker:{index}] root {index} was told 42 in /mnt/mesos/sandbox with GPUs: 0" in lines


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
@pytest.mark.parametrize("containerizer", ["MESOS", "DOCKER"])
def test_at_a_stock_master(
    stock_master: StockMaster,
    start_image_cluster: StartImageCluster,
    dockerd: Dockerd,
    python_archive: Path,
    tmp_path: Path,
    containerizer: str,
) -> None:
    dockerd.run("load", "--input", python_archive)
    cluster = start_image_cluster("--hostname=127.0.0.1", master=stock_master.address, engine=dockerd)
    assert_succeeded(run_job(cluster, tmp_path, "-C", containerizer))
    assert cluster.agent.kill(signal.SIGUSR1) == 0  # the master, which other tests have, too, forgets it
    assert cluster.wait_nothing_left() == []


def test_shared_memory_in_docker_has_the_size_that_was_asked_for(
    start_image_cluster: StartImageCluster, dockerd: Dockerd, python_archive: Path
) -> None:
    dockerd.run("load", "--input", python_archive)
    cluster = start_image_cluster(engine=dockerd)
    program = "import os; found = os.statvfs('/dev/shm'); print(found.f_blocks * found.f_frsize >> 20, 'MB')"
    words = ["-m", cluster.address, "-w", "1", "-Mw", "64", "--image", "python:3", "-C", "DOCKER", "--shm", "2g"]
    ended = run_program("tfrun", *words, "--", "python3", "-c", program)
    assert ended.status == 0, ended.text
    assert "[worker:0] 2048 MB" in ended.text.splitlines()


@pytest.mark.parametrize("containerizer", ["MESOS", "DOCKER"])
def test_an_image_is_pulled_again_when_that_is_asked_for(
    start_image_cluster: StartImageCluster,
    dockerd: Dockerd,
    registry: Registry,
    containerizer: str,
) -> None:
    # Given a job that has had its image
    cluster = start_image_cluster(f"--docker_registry={registry.url}", engine=dockerd)
    name = f"again/{containerizer.lower()}:1"
    words = [f"--docker_image={registry.host}/{name}", f"--containerizer={containerizer.lower()}"]
    registry.push(busybox_image({"etc/age": File(content=b"old")}), name)
    assert cluster.execute("cat /etc/age", *words).status == 0
    # When its tag means another image, and jobs want any, and then the one that is there now
    registry.push(busybox_image({"etc/age": File(content=b"new")}), name)
    assert cluster.execute("cat /etc/age", *words).status == 0
    program = ["-C", containerizer, "-f", "--image", f"{registry.host}/{name}", "--", "true"]
    forced = run_program("tfrun", "-m", cluster.address, "-w", "1", "-Mw", "64", *program)
    assert "has no python3" in forced.text
    assert cluster.execute("cat /etc/age", *words).status == 0
    # Then only the forced one has asked the registry
    assert [text for text in cluster.outputs() if text] == ["old", "old", "new"]
