"""One master and one agent as programs, for all tests of this folder."""

import os
from collections.abc import Iterator

import pytest

from tests.chaos.daemons import Cluster
from tests.fuzz.target import Target


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), f"TFMESOS_TEST_FUZZ={os.getpid()}")
    cluster.start()
    yield cluster
    cluster.stop()


@pytest.fixture
def master(cluster: Cluster) -> Iterator[Target]:
    yield from watched(Target(cluster.master, "/version"))


@pytest.fixture
def agent(cluster: Cluster) -> Iterator[Target]:
    yield from watched(Target(cluster.agent, "/version"))


def watched(target: Target) -> Iterator[Target]:
    """The daemon has to answer as before when a test is over, and has to have told of no fault of its own."""
    yield target
    assert target.answers(), target.daemon.log()[-3000:]
    assert "Traceback" not in target.daemon.log(), target.daemon.log()[-6000:]
