"""The task on the launcher's own machine."""

import os
import signal
from collections.abc import Iterator

import pytest

from tests.launcher.conftest import Written
from tfmesos.client import MasterUnreachable
from tfmesos.discovery import build_detector
from tfmesos.launcher import Job, JobRun, RunOptions
from tfmesos.launcher.blueprint import Program
from tfmesos.launcher.local_task import LocalTask


@pytest.fixture
def task() -> Iterator[LocalTask]:
    made = LocalTask("127.0.0.1")
    yield made
    made.close()


def shell(line: str) -> Program:
    return Program(argv=("sh", "-c", line), environment={}, command=None, shown={})


async def run(task: LocalTask, line: str) -> tuple[int, str]:
    return await task.run(shell(line), os.environb, "/")


@pytest.mark.parametrize(
    ("line", "end"),
    [
        ("exit 3", (3, "Command exited with status 3")),
        ("kill -9 $$", (137, "Command terminated with signal Killed")),
    ],
)
async def test_it_tells_how_it_ended_as_an_agent_does(task: LocalTask, line: str, end: tuple[int, str]) -> None:
    assert await run(task, line) == end


async def test_what_is_killed_before_it_starts_ends_as_it_starts(task: LocalTask) -> None:
    task.renew()
    task.kill(0.0)

    assert (await run(task, "sleep 100"))[0] in (128 + signal.SIGTERM, 128 + signal.SIGKILL)


async def test_a_later_attempt_is_not_killed_by_what_ended_the_one_before(task: LocalTask) -> None:
    task.kill(0.0)
    await run(task, "sleep 100")
    task.kill(0.0)  # its end has not been noticed yet

    task.renew()

    assert (await run(task, "exit 0"))[0] == 0


async def test_a_master_whose_name_is_unknown_is_no_master() -> None:
    options = RunOptions(jobs=(Job("worker", 1, cmd="true"),), framework_name="test", local_worker=True)
    run = JobRun(options, build_detector("no-such-host.invalid:5050"), output=Written())

    with pytest.raises(MasterUnreachable, match=r"no-such-host\.invalid"):
        await run.start()
