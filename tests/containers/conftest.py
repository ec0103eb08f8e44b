"""Agents that run images."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.containers.cluster import ImageCluster, Shelf
from tests.images import busybox_image, saved_v1_archive

StartImageCluster = Callable[..., ImageCluster]

REPLICA = '''
"""In the place of a training in replica mode: a server that tells a number, and workers that ask for it."""
import argparse, os, pwd, socket, time

parser = argparse.ArgumentParser()
for name in ("ps_hosts", "worker_hosts", "job_name", "worker_index"):
    parser.add_argument("--" + name)
given = parser.parse_args()
host, port = given.ps_hosts.split(",")[0].rsplit(":", 1)


def asked():
    deadline = time.monotonic() + 20
    while True:
        try:
            with socket.create_connection((host, int(port)), 5) as connection:
                return connection.recv(100).decode()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


if given.job_name == "ps":
    server = socket.create_server(("", int(port)))
    while True:
        server.accept()[0].sendall(b"42")
gpus = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
user = pwd.getpwuid(os.getuid()).pw_name
print(user, given.worker_index, "was told", asked(), "in", os.environ["MESOS_SANDBOX"], "with GPUs:", len(gpus))
'''
REPLICA_ARGUMENTS = (
    "--ps_hosts", "{ps_hosts}", "--worker_hosts", "{worker_hosts}", "--job_name", "{job_name}",
    "--worker_index", "{task_index}",
)  # fmt: skip


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory, python_archive: Path) -> Iterator[Shelf]:
    """`tiny:1`, which is busybox, and `python:3`."""
    if os.geteuid() != 0:
        pytest.skip("containers with images need root")
    folder = tmp_path_factory.mktemp("shelf")
    shelf = Shelf(folder / "archives", folder / "store")
    saved_v1_archive(shelf.archives / "tiny:1.tar", busybox_image(), "tiny:1")
    (shelf.archives / "python:3.tar").symlink_to(python_archive)
    yield shelf
    shutil.rmtree(folder)


@pytest.fixture
def start_image_cluster(shelf: Shelf, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartImageCluster]:
    """Starts a master and an agent: the agent's flags, and the keyword arguments of ImageCluster.

    `shelf`, `directory`: others than the usual; into the usual directory no other user gets.
    """
    started: list[ImageCluster] = []

    def start(*flags: str, shelf: Shelf = shelf, directory: Path | None = None, **options: Any) -> ImageCluster:
        cluster = ImageCluster(directory or tmp_path_factory.mktemp("containers"), shelf, *flags, **options)
        started.append(cluster)
        cluster.start()
        return cluster

    yield start
    for cluster in started:
        cluster.stop()
