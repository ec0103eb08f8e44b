"""Clients that nobody here wrote run against our master and agent: PyPI `avmesos` and `avmesos-cli`.

`mesos-cli task exec` and `task attach` of avmesos-cli 1.0.0 end with a NameError of their own before they ask anybody.
"""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.chaos.daemons import Cluster
from tests.compat.foreign.environments import environment_with, run_in, start_in

FRAMEWORK = Path(__file__).parent / "foreign" / "framework.py"
LONGER_THAN_ANY_TEST_S = 3600


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), f"TFMESOS_TEST_FOREIGN={os.getpid()}")
    cluster.start()
    yield cluster
    cluster.stop()


@pytest.fixture(scope="module")
def avmesos() -> Path:
    return environment_with("avmesos", "avmesos==0.4.2")


@pytest.fixture(scope="module")
def avmesos_cli() -> Path:
    return environment_with("avmesos-cli", "avmesos-cli==1.0.0", "requests", "zombie-imp; python_version >= '3.12'")


def run_framework(avmesos: Path, cluster: Cluster, task_id: str, command: str) -> list[str]:
    ran = run_in(avmesos, "python", str(FRAMEWORK), f"http://{cluster.address}", task_id, command)
    assert ran.returncode == 0, ran.stderr
    lines = [line.strip() for line in ran.stdout.splitlines()]
    assert lines[0].startswith("subscribed "), ran.stdout + ran.stderr
    return lines[1:]


@contextmanager
def running_task(avmesos: Path, cluster: Cluster, task_id: str) -> Iterator[None]:
    """A framework and its task, both there until the end of the context however long that takes."""
    command = f"sleep {LONGER_THAN_ANY_TEST_S}"
    with start_in(avmesos, "python", str(FRAMEWORK), f"http://{cluster.address}", task_id, command) as framework:
        try:
            assert framework.stdout is not None
            while "TASK_RUNNING" not in (line := framework.stdout.readline()):
                assert line, "it ended"
            yield
        finally:
            framework.kill()
    cluster.wait_no_framework(60)  # else the end of the cluster may leave of the task what it is just ending


def run_command(avmesos_cli: Path, cluster: Cluster, directory: Path, *argv: str) -> CompletedProcess[str]:
    config = directory / "config.toml"
    config.write_text(f'[master]\naddress = "{cluster.address}"\n[agent]\ntimeout = 60\n')
    ran = run_in(avmesos_cli, "mesos-cli", *argv, environ={"MESOS_CLI_CONFIG": str(config)})
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran


def test_avmesos_runs_a_task(avmesos: Path, cluster: Cluster) -> None:
    lines = run_framework(avmesos, cluster, "ends", "exit 0")

    assert lines == [
        "TASK_STARTING",
        "TASK_RUNNING",
        "TASK_FINISHED Command exited with status 0",
        "torn down",
    ]


def test_avmesos_sees_a_task_fail(avmesos: Path, cluster: Cluster) -> None:
    lines = run_framework(avmesos, cluster, "fails", "exit 3")

    assert lines[-2:] == ["TASK_FAILED Command exited with status 3", "torn down"]


def test_avmesos_cli_lists_what_is_there(avmesos: Path, avmesos_cli: Path, cluster: Cluster, tmp_path: Path) -> None:
    with running_task(avmesos, cluster, "sleeps"):
        agents = run_command(avmesos_cli, cluster, tmp_path, "agent", "list").stdout
        frameworks = run_command(avmesos_cli, cluster, tmp_path, "framework", "list").stdout
        tasks = run_command(avmesos_cli, cluster, tmp_path, "task", "list").stdout
        inspected = run_command(avmesos_cli, cluster, tmp_path, "task", "inspect", "sleeps").stdout

    assert "-S0" in agents
    assert "avmesos" in frameworks
    assert re.search(r"sleeps +TASK_RUNNING", tasks)
    task, _ = json.JSONDecoder().raw_decode(inspected)
    assert (task["id"], task["state"]) == ("sleeps", "TASK_RUNNING")
