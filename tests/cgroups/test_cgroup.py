"""The life of cgroups: made, found, emptied, removed; whatever the processes in them do."""

from __future__ import annotations

import asyncio
import os
import select
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cgroups.conftest import OpenCgroups, hierarchies_of
from tests.cgroups.inside import Inside
from tfmesos.cgroups import Cgroup, CgroupError, Cgroups

pytestmark = [pytest.mark.root, pytest.mark.cgroups]

STUBBORN = r"""
import os, signal, sys, time
for procs in sys.argv[2:]:
    with open(procs, "w") as file:
        file.write("0")
def hop():  # never the same pid for long
    while True:
        if os.fork():
            os._exit(0)
kind = sys.argv[1]
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if kind == "hopping":
            hop()
        break
os.write(1, b".")
if kind == "stopped":
    os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(600)
"""

WAYS = {
    "v1 with the freezer": ("v1", "devices", "freezer"),
    "v1 with a limit of processes": ("v1", "devices", "pids"),
    "v1 with nothing but devices": ("v1", "devices"),
    "v2": ("v2", "devices"),
    "mixed": ("mixed", "devices", "freezer"),
}

Start = Callable[[Cgroup, str], int]


@pytest.fixture(params=list(WAYS.values()), ids=list(WAYS))
def everywhere(request: pytest.FixtureRequest, open_cgroups: OpenCgroups) -> Cgroups:
    return open_cgroups(*request.param)


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a family of four in a cgroup, and takes its zombies from the table in the end."""
    started: list[subprocess.Popen[bytes]] = []

    def start_(cgroup: Cgroup, kind: str) -> int:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", STUBBORN, kind, *cgroup.procs_files], stdout=subprocess.PIPE
        )
        started.append(process)
        assert process.stdout is not None
        for _ in range(1 if kind == "hopping" else 4):
            process.stdout.read(1)
        return process.pid

    yield start_
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def exists(cgroup: Cgroup) -> list[bool]:
    return [os.path.exists(part.path) for part in cgroup.parts]


@pytest.mark.parametrize("kind", ["deaf", "stopped", "hopping"])
async def test_destroy_ends_whatever_is_in_it(everywhere: Cgroups, start: Start, kind: str) -> None:
    cgroup, other = everywhere.create(("container",)), everywhere.create(("other",))
    pid, bystander = start(cgroup, kind), start(other, "deaf")
    assert kind == "hopping" or pid in cgroup.pids()
    await cgroup.destroy(10)
    assert not any(exists(cgroup))
    assert cgroup.pids() == set()
    assert bystander in other.pids()
    assert len(other.pids()) == 4


async def test_destroy_takes_what_is_nested_with_it(everywhere: Cgroups, start: Start) -> None:
    parent = everywhere.create(("parent",))
    child = everywhere.create(("parent", "child"))
    grandchild = everywhere.create(("parent", "child", "grandchild"))
    made_by_a_process = [f"{os.path.dirname(path)}/own" for path in child.procs_files]
    for path in made_by_a_process:
        os.mkdir(path)
    for each in (child, grandchild):
        start(each, "deaf")
    assert len(parent.pids()) == 8
    await parent.destroy(10)
    assert everywhere.lineages() == []
    assert not any(map(os.path.exists, made_by_a_process))


async def test_a_nested_cgroup_goes_alone(everywhere: Cgroups, start: Start) -> None:
    parent = everywhere.create(("parent",))
    child = everywhere.create(("parent", "child"))
    pid = start(parent, "deaf")
    start(child, "deaf")
    await child.destroy(10)
    assert everywhere.lineages() == [("parent",)]
    assert pid in parent.pids()


def test_kill_leaves_the_cgroup(everywhere: Cgroups, start: Start) -> None:
    cgroup = everywhere.create(("container",))
    start(cgroup, "stopped")
    pidfds = [os.pidfd_open(pid) for pid in cgroup.pids()]
    cgroup.kill()
    for pidfd in pidfds:
        assert select.select([pidfd], [], [], 10)[0]
        os.close(pidfd)
    assert cgroup.pids() == set()
    assert all(exists(cgroup))
    with Inside(cgroup) as inside:  # and it can be used
        assert inside.ask("fork") == "ok"


async def test_what_is_frozen_is_destroyed_too(version: str, open_cgroups: OpenCgroups, start: Start) -> None:
    cgroup = open_cgroups(version, "freezer").create(("container",))
    start(cgroup, "deaf")
    name, text = ("freezer.state", "FROZEN") if version == "v1" else ("cgroup.freeze", "1")
    with open(f"{cgroup.parts[0].path}/{name}", "w") as file:  # noqa: ASYNC230
        file.write(text)
    await cgroup.destroy(10)
    assert not any(exists(cgroup))


async def test_what_froze_itself_below_is_destroyed_too(version: str, open_cgroups: OpenCgroups, start: Start) -> None:
    cgroup = open_cgroups(version, "freezer").create(("container",))
    pid = start(cgroup, "deaf")
    own = Path(cgroup.procs_files[0]).parent / "own"
    own.mkdir()
    (own / "cgroup.procs").write_text(str(pid))
    name, text = ("freezer.state", "FROZEN") if version == "v1" else ("cgroup.freeze", "1")
    (own / name).write_text(text)
    await cgroup.destroy(10)
    assert not any(exists(cgroup))


def test_a_limit_of_processes_survives_a_kill(open_cgroups: OpenCgroups, start: Start) -> None:
    cgroup = open_cgroups("v1", "pids").create(("container",))
    limit = Path(cgroup.parts[0].path, "pids.max")
    limit.write_text("50")
    start(cgroup, "deaf")
    cgroup.kill()
    assert limit.read_text() == "50\n"


def test_what_cannot_be_emptied_is_named(version: str, open_cgroups: OpenCgroups, start: Start) -> None:
    """Someone froze the processes from outside (version 1's freezer holds even those that are killed)."""
    cgroup = open_cgroups(version, "devices").create(("container",))
    frozen = open_cgroups("v1", "freezer").create(("frozen",))
    pid = start(cgroup, "deaf")
    for each in sorted(cgroup.pids()):
        Path(frozen.procs_files[0]).write_text(str(each))
    state = Path(frozen.parts[0].path, "freezer.state")
    state.write_text("FROZEN")
    try:
        with pytest.raises(CgroupError) as refused:
            asyncio.run(cgroup.destroy(0.05))
        assert f"Cannot destroy the cgroup {cgroup.parts[0].path} within 0.05 s: processes {pid}, " in str(
            refused.value
        )
        assert str(refused.value).endswith(" do not end")
    finally:
        state.write_text("THAWED")
    asyncio.run(cgroup.destroy(10))


async def test_a_cgroup_is_found_and_destroyed_by_whoever_comes_next(
    open_cgroups: OpenCgroups, version: str, start: Start
) -> None:
    first = open_cgroups(version, root=f"test-next-{version}")
    first.create(("container",))
    start(first.create(("container", "nested")), "deaf")
    second = Cgroups.open(hierarchies_of(version), f"test-next-{version}", ("devices", "freezer"))
    assert second.lineages() == [("container",), ("container", "nested")]
    found = second.find(("container", "nested"))
    assert found is not None
    assert len(found.pids()) == 4
    assert second.find(("container", "other")) is None
    for lineage in reversed(second.lineages()):
        cgroup = second.find(lineage)
        assert cgroup is not None
        await cgroup.destroy(10)
    assert first.lineages() == []


async def test_destroying_twice_is_fine(cgroup: Cgroup) -> None:
    await cgroup.destroy(1)
    await cgroup.destroy(1)


def test_ids_may_be_named_like_our_own_directories(cgroups: Cgroups) -> None:
    for lineage in (("mesos",), ("mesos", "leaf"), ("mesos", "mesos"), ("a",), ("a", "mesos")):
        cgroups.create(lineage)
    assert cgroups.lineages() == [("a",), ("a", "mesos"), ("mesos",), ("mesos", "leaf"), ("mesos", "mesos")]


def test_a_cgroup_is_made_once(cgroups: Cgroups) -> None:
    cgroups.create(("container",))
    with pytest.raises(CgroupError, match="/container exists already"):
        cgroups.create(("container",))


def test_what_is_nested_needs_its_parent_and_leaves_nothing(cgroups: Cgroups) -> None:
    with pytest.raises(CgroupError, match="/none/mesos: No such file or directory"):
        cgroups.create(("none", "child"))
    assert cgroups.lineages() == []


def test_a_half_made_cgroup_is_removed(open_cgroups: OpenCgroups) -> None:
    cgroups = open_cgroups("v1", "devices", "memory")
    cgroup = cgroups.create(("parent",))
    os.rmdir(cgroup.parts[1].path)
    with pytest.raises(CgroupError, match="No such file"):
        cgroups.create(("parent", "child"))
    assert cgroups.lineages() == [("parent",)]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\0b"])
def test_an_id_that_is_no_name_is_refused(cgroups: Cgroups, name: str) -> None:
    for lineage in ((name,), ("parent", name)):
        with pytest.raises(CgroupError, match="cannot be"):
            cgroups.create(lineage)


def test_an_id_that_is_a_control_file_is_refused(cgroups: Cgroups) -> None:
    with pytest.raises(CgroupError, match=r"cgroup\.procs: a control file has this name"):
        cgroups.create(("cgroup.procs",))


def test_a_root_is_made_and_removed_by_whoever_is_last(version: str) -> None:
    hierarchies = hierarchies_of(version)
    root = f"test-outer-{version}/inner"
    first = Cgroups.open(hierarchies, root, ("devices",))
    second = Cgroups.open(hierarchies, root, ("devices",))
    place = Path(str(hierarchies.path_of("devices")))
    cgroup = first.create(("container",))
    first.close()
    assert (place / root).is_dir()
    assert cgroup.remove_empty()
    second.close()
    assert not (place / f"test-outer-{version}").exists()


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_root_that_was_there_before_stays(version: str) -> None:
    hierarchies = hierarchies_of(version)
    place = Path(str(hierarchies.path_of("devices"))) / f"test-stays-{version}"
    place.mkdir()
    Cgroups.open(hierarchies, f"{place.name}/inner", ("devices",)).close()
    assert list(place.glob("*/")) == []
    place.rmdir()


@pytest.mark.parametrize("root", ["", "/mesos", "mesos/", "../mesos", "a//b"])
def test_a_root_that_leads_elsewhere_is_refused(root: str) -> None:
    with pytest.raises(CgroupError, match=r"relative path as 'mesos'"):
        Cgroups.open(hierarchies_of("v1"), root, ("devices",))


def test_a_control_that_was_not_wanted_is_named(cgroup: Cgroup) -> None:
    with pytest.raises(CgroupError, match="without the controller 'memory'"):
        cgroup.memory.limit()


def test_processes_of_an_outer_pid_namespace_are_never_signalled(open_cgroups: OpenCgroups, start: Start) -> None:
    """They are listed as 0, which would mean the caller's own group."""
    cgroup = open_cgroups("v1", "devices").create(("container",))
    start(cgroup, "deaf")
    code = f"from tfmesos.cgroups import _files; print(_files.read_pids({cgroup.parts[0].path!r}))"
    command = ["unshare", "--fork", "--pid", sys.executable, "-c", code]
    listed = subprocess.run(command, check=True, capture_output=True, text=True)
    assert listed.stdout.strip() == "set()"


def test_what_is_around_it_is_made_where_there_is_none_yet(open_cgroups: OpenCgroups) -> None:
    root = f"test-{uuid.uuid4().hex[:12]}"
    with_less = open_cgroups("v1", "freezer", root=root)
    cgroups = open_cgroups("v1", "devices", "freezer", root=root)
    parent = with_less.create(("parent",))

    cgroups.complete(("parent",))
    child = cgroups.create(("parent", "child"))

    assert all(Path(part.path).is_dir() for part in child.parts)
    assert parent.pids() == set()


def test_its_directories_can_be_removed_in_their_order(cgroups: Cgroups) -> None:
    parent, child = cgroups.create(("parent",)), cgroups.create(("parent", "child"))
    for path in child.directories:
        os.rmdir(path)
    assert cgroups.lineages() == [("parent",)]
    assert set(map(os.path.dirname, parent.procs_files)) <= set(parent.directories)
