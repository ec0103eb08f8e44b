"""A supervisor runs one program after the other; nothing of one reaches the next."""

import asyncio
import contextlib
import os
import random
import select
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.supervision.conftest import Tree
from tfmesos.supervision import ProcessSpec, Supervised, Supervisors, open_pidfd
from tfmesos.supervision import supervisors as face
from tfmesos.supervision._tree import children_of

BuildSpec = Callable[..., ProcessSpec]


async def run(supervisors: Supervisors, spec: ProcessSpec) -> Supervised:
    child = await supervisors.launch(spec)
    await child.release()
    await child.wait()
    return child


async def test_programs_in_a_row_share_a_supervisor_and_nothing_else(
    supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path
) -> None:
    # given programs that follow each other, each with something of its own
    other = tmp_path / "other"
    other.mkdir()
    script = "pwd; env | sort; ls /proc/self/fd | wc -l; exit $STATUS"
    first = build_spec("sh", "-c", script, STATUS="3", SECRET="of the first")
    second = replace(build_spec("sh", "-c", script, STATUS="4", stdout=str(tmp_path / "second")), directory=str(other))
    # when they run
    one = await run(supervisors, first)
    descriptors = os.listdir(f"/proc/{one.pid}/fd")
    two = await run(supervisors, second)
    # then the same supervisor ran both, as if each were alone
    assert one.pid == two.pid
    assert one.start_time == two.start_time
    assert [(await child.wait()).wait_status for child in (one, two)] == [3 << 8, 4 << 8]
    lines = (tmp_path / "second").read_text().splitlines()
    assert lines[0] == str(other)
    assert not any("SECRET" in line for line in lines)
    assert "STATUS=4" in lines
    assert os.listdir(f"/proc/{two.pid}/fd") == descriptors
    assert os.readlink(f"/proc/{two.pid}/cwd") == "/"


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
async def test_a_user_does_not_stay(supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path) -> None:
    ids = build_spec("sh", "-c", "echo $(id -u; id -g; id -G)")
    before = await run(supervisors, ids)
    # when another user's program ran in between (its log is opened before; it cannot enter this directory)
    theirs = replace(ids, directory="/", stdout="/dev/null", stderr="/dev/null", uid=12345, gid=12345, groups=(4242,))
    between = await run(supervisors, theirs)
    after = await run(supervisors, ids)
    # then the next one is as the first
    assert before.pid == between.pid == after.pid
    first, second = (tmp_path / "stdout").read_text().splitlines()
    assert first == second
    assert first.split()[:2] == [str(os.geteuid()), str(os.getegid())]


async def test_a_kill_that_comes_too_late_does_not_hit_the_next(
    supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path
) -> None:
    first = await supervisors.launch(build_spec("sh", "-c", "exit 3"))
    await first.release()
    # given that the program has ended, which this loop has not read yet
    time.sleep(0.1)  # noqa: ASYNC251
    first.kill(0.0)
    assert not (await first.wait()).killed
    # when the same supervisor has the next program
    second = await run(supervisors, build_spec("sh", "-c", "exit 5"))
    # then that is not killed
    assert second.pid == first.pid
    assert second.termination is not None
    assert (second.termination.wait_status, second.termination.killed) == (5 << 8, False)


async def test_nobody_waits_for_long(supervisors: Supervisors, build_spec: BuildSpec, tree: Tree) -> None:
    child = await run(supervisors, build_spec("true"))
    tree.add_below(parent_of(child.pid))
    assert list(tree.pidfds) == [child.pid]
    assert await asyncio.to_thread(tree.wait_gone, 10.0) == []
    assert (await run(supervisors, build_spec("true"))).pid != child.pid


async def test_a_supervisor_that_keeps_a_record_serves_one_program(
    supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path
) -> None:
    spec = replace(build_spec("true"), record_dir=str(tmp_path))
    assert len({(await run(supervisors, spec)).pid for _ in range(3)}) == 3


@pytest.mark.parametrize("part", ["supervisor", "fork server"])
async def test_a_loss_while_waiting_is_not_noticed(supervisors: Supervisors, build_spec: BuildSpec, part: str) -> None:
    # given supervisors that wait for a program
    both = await asyncio.gather(*(run(supervisors, build_spec("true")) for _ in range(3)))
    victim = both[0].pid if part == "supervisor" else parent_of(both[0].pid)
    # when one of them, or the fork server, is lost
    pidfd = open_pidfd(victim)
    os.kill(victim, signal.SIGKILL)
    select.select([pidfd], [], [])
    os.close(pidfd)
    # then the next programs run all the same
    for child in await asyncio.gather(*(run(supervisors, build_spec("sh", "-c", "exit 6")) for _ in range(4))):
        assert child.termination is not None
        assert child.termination.wait_status == 6 << 8


@pytest.mark.parametrize("idle_s", [0.0, 0.001, 0.01])
async def test_no_program_is_lost_when_supervisors_are_sent_away(
    supervisors: Supervisors, build_spec: BuildSpec, monkeypatch: pytest.MonkeyPatch, idle_s: float
) -> None:
    """As on a machine that is so busy that half a second is nothing."""
    monkeypatch.setattr(face, "IDLE_S", idle_s)
    random_ends = [build_spec("sh", "-c", f"sleep {random.choice([0, 0.005, 0.02])}; exit {i}") for i in range(60)]
    async with asyncio.timeout(60):
        ended = await asyncio.gather(*(run(supervisors, spec) for spec in random_ends))
    assert [child.termination.wait_status for child in ended if child.termination] == [i << 8 for i in range(60)]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_every_program_ends_for_its_owner_while_supervisors_are_killed(
    supervisors: Supervisors, build_spec: BuildSpec, number: signal.Signals
) -> None:
    # given programs that follow each other
    async def keep_running() -> list[Supervised]:
        return [await run(supervisors, build_spec("sh", "-c", "exit 7")) for _ in range(8)]

    running = [asyncio.create_task(keep_running()) for _ in range(6)]
    first = await run(supervisors, build_spec("true"))
    server = parent_of(first.pid)
    # when some supervisor is killed at any moment, again and again
    while not all(task.done() for task in running):
        for pid in random.sample(children_of(server), k=min(1, len(children_of(server)))):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        await asyncio.sleep(0.01)
    # then each program ended with its own status or as lost
    for child in [child for task in running for child in await task]:
        assert child.termination is not None
        assert child.termination.wait_status == 7 << 8 or "was lost" in (child.termination.message or "")


async def test_a_killed_programs_supervisor_ends_with_it(
    supervisors: Supervisors, build_spec: BuildSpec, tree: Tree
) -> None:
    child = await supervisors.launch(build_spec("sleep", "1000"))
    await child.release()
    tree.add_below(os.getpid())
    child.kill(5.0)
    await child.wait()
    assert (await run(supervisors, build_spec("true"))).pid != child.pid


def parent_of(pid: int) -> int:
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])
