"""TensorFlow in a container, out of an image that is made of what is installed here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.containers.cluster import Shelf
from tests.containers.conftest import StartImageCluster
from tests.debian import wants_debians_python

ROOT = Path(__file__).parents[2]


@pytest.fixture
def big_shelf(tmp_path: Path) -> Iterator[Shelf]:
    """Several GB, so that they go at once."""
    yield Shelf(tmp_path / "archives", tmp_path / "store")
    for folder in ("archives", "store"):
        shutil.rmtree(tmp_path / folder)


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.timeout(300)
@wants_debians_python
def test_servers_in_containers_compute_42(big_shelf: Shelf, start_image_cluster: StartImageCluster) -> None:
    # Given an image with TensorFlow, made by the script of the page
    pytest.importorskip("tensorflow")
    words = ["--tag=tensorflow:1", "--python=tensorflow", str(big_shelf.archives / "tensorflow:1.tar")]
    subprocess.run([sys.executable, ROOT / "docker" / "offline_image.py", *words], check=True)
    cluster = start_image_cluster(shelf=big_shelf)
    # When the sum of the example is computed by servers in that image
    example = subprocess.run(
        [sys.executable, ROOT / "examples" / "plus.py", cluster.address],
        env={**os.environ, "DOCKER_IMAGE": "tensorflow:1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
    )
    # Then it is right
    assert example.returncode == 0, example.stdout
    assert example.stdout.splitlines()[-1] == "42"
    assert cluster.wait_nothing_left() == []
