"""Who a job's tasks are in an image."""

from __future__ import annotations

import json
import os
import pwd
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.containers.cluster import ImageCluster, Shelf
from tests.launcher.conftest import Written, outcome_of
from tfmesos.discovery import build_detector
from tfmesos.launcher import ContainerOptions, Job, JobRun, RunOptions

USER = "mail"
"""Every Debian has it."""
LOOK = """
import getpass, json, os, pwd
open("written", "w")
found = {"uid": os.getuid(), "name": pwd.getpwuid(os.getuid()).pw_name, "cwd": os.getcwd(), "user": getpass.getuser()}
home = os.path.expanduser("~")
found.update(home=home, homely=os.access(home, os.W_OK), passwd=os.access("/etc/passwd", os.W_OK))
print(json.dumps(found))
"""


async def look(cluster: str, container: ContainerOptions, user: str) -> dict[str, object]:
    job = Job("worker", 1, mem=64, cmd=["python3", "-c", LOOK])
    written = Written()
    options = RunOptions(jobs=(job,), framework_name="who", user=user, container=container)

    outcome = await outcome_of(JobRun(options, build_detector(cluster), output=written))

    assert outcome.exit_status == 0, outcome.text
    (line,) = written.lines
    return dict(json.loads(line.removeprefix("[worker:0] ")))


@pytest.fixture
def cluster(shelf: Shelf) -> Iterator[ImageCluster]:
    """Its sandboxes are where others can enter them, which pytest's own directories are not."""
    with tempfile.TemporaryDirectory(prefix="users-", ignore_cleanup_errors=True) as directory:
        os.chmod(directory, 0o711)
        started = ImageCluster(Path(directory), shelf)
        started.start()
        yield started
        started.stop()


async def test_a_user_of_the_agents_machine_has_a_name_and_a_home_in_an_image(cluster: ImageCluster) -> None:
    found = await look(cluster.address, ContainerOptions(image="python:3"), USER)

    assert found == {
        "uid": pwd.getpwnam(USER).pw_uid,
        "name": USER,
        "user": USER,
        "cwd": "/mnt/mesos/sandbox",
        "home": "/mnt/mesos/sandbox",
        "homely": True,
        "passwd": False,
    }
