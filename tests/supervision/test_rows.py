"""Many programs in a row."""

import asyncio
import contextlib
import os
import random
import select
import signal
from collections.abc import Callable

import pytest

from tfmesos.supervision import ProcessSpec, Supervised, SupervisorLost, Supervisors, Termination, open_pidfd
from tfmesos.supervision._tree import children_of

BuildSpec = Callable[..., ProcessSpec]


async def run(supervisors: Supervisors, spec: ProcessSpec) -> Supervised:
    child = await supervisors.launch(spec)
    await child.release()
    await child.wait()
    return child


async def test_a_kill_that_comes_too_late_changes_nothing(supervisors: Supervisors, build_spec: BuildSpec) -> None:
    first = await supervisors.launch(build_spec("sh", "-c", "exit 3"))
    pidfd = open_pidfd(first.pid)
    await first.release()
    # given that the program and its supervisor have ended, which this loop has not read yet
    select.select([pidfd], [], [])
    os.close(pidfd)
    # when it is killed
    first.kill(0.0)
    # then it ended by itself
    await first.wait()
    assert first.termination == Termination(wait_status=3 << 8, killed=False)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_every_program_ends_for_its_owner_while_supervisors_are_killed(
    supervisors: Supervisors, build_spec: BuildSpec, number: signal.Signals
) -> None:
    # given programs that follow each other
    async def keep_running() -> list[Supervised]:
        ended = []
        for _ in range(8):
            with contextlib.suppress(SupervisorLost):  # where the machine is slow, each try to start it may be killed
                ended.append(await run(supervisors, build_spec("sh", "-c", "exit 7")))
        return ended

    first = await supervisors.launch(build_spec("true"))
    server = parent_of(first.pid)  # while it waits at its gate
    await first.release()
    await first.wait()
    running = [asyncio.create_task(keep_running()) for _ in range(6)]
    # when some supervisor is killed at any moment, again and again
    while not all(task.done() for task in running):
        for pid in children_of(server)[: random.randrange(2)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        await asyncio.sleep(0.01)
    # then each program ended with its own status or as lost
    for child in [child for task in running for child in await task]:
        assert child.termination is not None
        assert child.termination.wait_status == 7 << 8 or "was lost" in (child.termination.message or "")


def parent_of(pid: int) -> int:
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])
