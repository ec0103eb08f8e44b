"""Programs that start inside cgroups."""

import asyncio
import os
import signal
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tfmesos.supervision import Console, ProcessSpec, Supervised, Supervisors, Termination

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("cgroups")]  # which end last

BuildSpec = Callable[..., ProcessSpec]
HIERARCHIES = ("freezer", "pids", "unified")


@pytest.fixture
def cgroups() -> Iterator[list[Path]]:
    """One of each of some hierarchies, two levels deep."""
    if os.geteuid():
        pytest.skip("only root may make cgroups")
    name = f"test-supervision-{uuid.uuid4().hex[:8]}"
    made = [Path("/sys/fs/cgroup", hierarchy, name, "deep") for hierarchy in HIERARCHIES]
    made = [path for path in made if path.parent.parent.is_dir()]
    if not made:
        pytest.skip("no cgroup hierarchies are mounted below /sys/fs/cgroup")
    for path in made:
        path.mkdir(parents=True)
    yield made
    for path in made:
        with suppress(FileNotFoundError):
            path.rmdir()
        path.parent.rmdir()


def procs_files(cgroups: list[Path]) -> tuple[str, ...]:
    return tuple(str(path / "cgroup.procs") for path in cgroups)


def membership(pid: int) -> str:
    return Path(f"/proc/{pid}/cgroup").read_text()


async def run(supervisors: Supervisors, spec: ProcessSpec) -> Supervised:
    child = await supervisors.launch(spec)
    await child.release()
    return child


@pytest.mark.parametrize("uid", [None, 65534])
async def test_the_program_is_inside_from_its_start_and_its_supervisor_is_not(
    supervisors: Supervisors, build_spec: BuildSpec, cgroups: list[Path], tmp_path: Path, uid: int | None
) -> None:
    # given a program of any user that tells where it is
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    script = "cat /proc/self/cgroup; sleep 1000"
    stdout = os.open(fifo, os.O_RDWR)
    spec = build_spec("sh", "-c", script, stdout=f"/proc/{os.getpid()}/fd/{stdout}" if uid is None else "/dev/null")
    spec = replace(spec, cgroups=procs_files(cgroups), uid=uid, gid=uid, directory="/", stderr="/dev/null")
    # when it runs
    child = await run(supervisors, spec)
    # then it is there in each hierarchy, and so is what it starts
    where = f"/{cgroups[0].parent.name}/deep"
    assert membership(child.task_pid or 0).count(where) == len(cgroups)
    if uid is None:
        assert os.read(stdout, 4096).decode().count(where) == len(cgroups)
    os.close(stdout)
    # and its supervisor is where this process is
    assert membership(child.pid) == membership(os.getpid())


async def test_also_with_a_console(
    supervisors: Supervisors, build_spec: BuildSpec, cgroups: list[Path], tmp_path: Path
) -> None:
    spec = replace(build_spec("sleep", "1000"), cgroups=procs_files(cgroups), console=Console(tty=True))
    child = await run(supervisors, replace(spec, record_dir=str(tmp_path)))

    assert membership(child.task_pid or 0).count(cgroups[0].parent.name) == len(cgroups)
    assert membership(child.pid) == membership(os.getpid())


async def test_two_programs_may_share_them(
    supervisors: Supervisors, build_spec: BuildSpec, cgroups: list[Path]
) -> None:
    spec = replace(build_spec("sleep", "1000"), cgroups=procs_files(cgroups))
    children = [await run(supervisors, spec), await run(supervisors, spec)]

    for path in cgroups:
        assert set((path / "cgroup.procs").read_text().split()) == {str(child.task_pid) for child in children}


async def test_a_cgroup_that_cannot_be_entered_is_named_and_nothing_starts(
    supervisors: Supervisors, build_spec: BuildSpec, cgroups: list[Path], tmp_path: Path
) -> None:
    # given that the last one is gone
    cgroups[-1].rmdir()
    spec = replace(build_spec("touch", "ran"), cgroups=procs_files(cgroups))
    # when it is to start
    child = await run(supervisors, spec)
    # then it does not, the reason is told, and its supervisor has left the others
    missing = f"cannot enter the cgroup '{cgroups[-1]}/cgroup.procs': No such file or directory"
    assert await child.wait() == Termination(wait_status=None, killed=False, message=missing)
    assert not (tmp_path / "ran").exists()
    assert all(not (path / "cgroup.procs").read_text() for path in cgroups[:-1])


async def test_one_that_cannot_be_executed_leaves_nobody_inside(
    supervisors: Supervisors, build_spec: BuildSpec, cgroups: list[Path]
) -> None:
    child = await run(supervisors, replace(build_spec("no-such-program"), cgroups=procs_files(cgroups)))

    assert (await child.wait()).wait_status == 1 << 8
    assert all(not (path / "cgroup.procs").read_text() for path in cgroups)


@pytest.mark.parametrize("is_alone", [False, True])
async def test_what_the_program_has_frozen_can_be_killed(
    supervisors: Supervisors, build_spec: BuildSpec, cgroups: list[Path], tmp_path: Path, is_alone: bool
) -> None:
    # given a program one of whose processes is frozen in a cgroup below its own
    deep = next((path for path in cgroups if path.parts[4] == "freezer"), None)
    if deep is None:
        pytest.skip("there is no freezer of version 1 here")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    frozen = deep / "frozen"
    freeze = f"mkdir {frozen}; echo $! > {frozen}/cgroup.procs; echo FROZEN > {frozen}/freezer.state"
    script = f"setsid sleep 1000 & {freeze}; echo ready > {fifo}; wait"
    spec = replace(build_spec("sh", "-c", script), cgroups=procs_files(cgroups), record_dir=str(tmp_path))
    child = await run(supervisors, spec)
    with fifo.open() as told:
        assert await asyncio.to_thread(told.readline) == "ready\n"
    # when it is killed, also without its supervisor
    if is_alone:
        os.kill(child.pid, signal.SIGKILL)
    else:
        child.kill(0.0)
    # then nothing of it is left
    await asyncio.wait_for(child.wait(), 10)
    frozen.rmdir()


async def test_what_is_to_start_where_all_is_frozen_can_be_killed(
    supervisors: Supervisors, build_spec: BuildSpec, cgroups: list[Path]
) -> None:
    for path in cgroups:
        for name, text in (("freezer.state", "FROZEN"), ("cgroup.freeze", "1")):
            if (path / name).exists():
                (path / name).write_text(text)
    child = await supervisors.launch(replace(build_spec("sleep", "1000"), cgroups=procs_files(cgroups)))
    releasing = asyncio.create_task(child.release())
    await asyncio.wait({releasing}, timeout=0.1)

    child.kill(0.0)

    assert (await asyncio.wait_for(child.wait(), 20)).killed
    await releasing
