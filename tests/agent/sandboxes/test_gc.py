"""Old sandboxes: which go, when, and that nothing else goes with them."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.waiting import eventually
from tfmesos.agent.sandboxes.gc import Collector, Sandbox, Schedule, disk_usage
from tfmesos.agent.sandboxes.trees import remove_tree
from tfmesos.agent.sandboxes.work_dir import make_sandbox, old_runs


def test_sandboxes_go_when_they_are_old_enough() -> None:
    schedule = Schedule(1000, 0.1)
    schedule.look_at_disk(0.8)
    for ended_s in (30.0, 10.0, 20.0):
        schedule.add(Sandbox(ended_s, f"/{ended_s}"))

    assert schedule.max_age_s == pytest.approx(100)
    assert schedule.deadline() == pytest.approx(110)
    assert [sandbox.ended_s for sandbox in schedule.take_due(120.1)] == [10, 20]
    assert len(schedule) == 1


def test_a_disk_without_headroom_makes_all_go_but_the_last_minute() -> None:
    schedule = Schedule(1000, 0.1)
    schedule.add(Sandbox(2000, "/a"))
    schedule.look_at_disk(0.95)

    assert schedule.take_due(2059) == []
    assert schedule.take_due(2060) == [Sandbox(2000, "/a")]


@given(st.lists(st.floats(0, 1000)), st.floats(0, 1), st.floats(0, 2000))
def test_none_goes_early_none_stays_and_none_goes_twice(ends: list[float], usage: float, now: float) -> None:
    schedule = Schedule(100, 0.1)
    for number, ended_s in enumerate(ends):
        schedule.add(Sandbox(ended_s, str(number)))
    schedule.look_at_disk(usage)

    due = schedule.take_due(now)

    assert all(sandbox.ended_s + schedule.max_age_s <= now for sandbox in due)
    assert len(due) + len(schedule) == len(ends)
    assert schedule.deadline() > now
    assert schedule.take_due(now) == []


def test_the_usage_of_a_disk_is_a_share(tmp_path: Path) -> None:
    assert 0 < disk_usage(str(tmp_path)) < 1
    assert disk_usage("/no/such") == 0


def _make_run(work_dir: Path, name: str) -> str:
    directory = str(work_dir / "slaves" / "s" / "frameworks" / "f" / "executors" / "e" / "runs" / name)
    make_sandbox(directory, None, is_latest=True)
    Path(directory, "stdout").write_text("x")
    return directory


async def test_what_is_due_goes_with_the_empty_directories_above(tmp_path: Path) -> None:
    first, second = _make_run(tmp_path, "one"), _make_run(tmp_path, "two")
    assert old_runs(tmp_path).keys() == {first, second}
    collector = Collector(Schedule(0, 0), str(tmp_path), 60)
    collector.start()

    collector.add(first)
    await eventually(lambda: collector.succeeded)
    assert list(old_runs(tmp_path)) == [second]
    collector.add(second)
    await eventually(lambda: collector.succeeded == 2)
    await collector.close()

    assert os.listdir(tmp_path / "slaves") == []


async def test_old_sandboxes_have_their_own_age(tmp_path: Path) -> None:
    old, fresh = _make_run(tmp_path, "old"), _make_run(tmp_path, "fresh")
    os.utime(old, (0, 0))
    collector = Collector(Schedule(3600, 0), str(tmp_path), 60)
    collector.add_old({**old_runs(tmp_path), "/no/such": 0.0})
    collector.start()

    await eventually(lambda: collector.succeeded == 2)
    await collector.close()

    assert list(old_runs(tmp_path)) == [fresh]


async def test_a_sandbox_that_cannot_be_removed_is_told_and_the_others_go(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    collector = Collector(Schedule(0, 0), str(tmp_path), 60)
    collector.add("/proc/self/fdinfo")
    collector.add(_make_run(tmp_path, "one"))
    collector.start()

    await eventually(lambda: collector.succeeded)
    await collector.close()

    assert collector.failed == 1
    assert "/proc/self/fdinfo cannot be removed" in caplog.text


async def test_a_run_may_begin_while_its_directory_is_removed_as_empty(tmp_path: Path) -> None:
    collector = Collector(Schedule(0, 0), str(tmp_path), 60)
    collector.start()
    for number in range(50):
        collector.add(_make_run(tmp_path, str(number)))
        await asyncio.sleep(0)
    await eventually(lambda: collector.succeeded == 50)
    await collector.close()


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    tree = tmp_path / "tree"
    (tree / "a" / "b").mkdir(parents=True)
    (tree / "a" / "b" / "link").symlink_to(outside)
    (tree / "loop").symlink_to(tree)
    os.mkfifo(tree / "a" / "pipe")

    remove_tree(str(tree))

    assert not tree.exists()
    assert (outside / "kept").exists()


def test_two_may_remove_the_same_tree_at_once(tmp_path: Path) -> None:
    for number in range(500):
        (tmp_path / "tree" / str(number % 20) / str(number)).mkdir(parents=True)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(remove_tree, [str(tmp_path / "tree")] * 4))

    assert os.listdir(tmp_path) == []


def test_no_tree_is_too_deep(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    directory = os.open(tree, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d", dir_fd=directory)
        inner = os.open("d", os.O_RDONLY, dir_fd=directory)
        os.close(directory)
        directory = inner
    os.close(directory)

    remove_tree(str(tree))

    assert not tree.exists()


def test_what_is_missing_or_a_file_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    remove_tree(str(tmp_path / "file"))
    remove_tree(str(tmp_path / "missing"))

    assert os.listdir(tmp_path) == []


@pytest.mark.root
def test_a_mounted_file_system_stays(tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root and unshare")
    (tmp_path / "tree" / "mounted").mkdir(parents=True)
    (tmp_path / "tree" / "file").touch()
    script = (
        f"mount -t tmpfs none {tmp_path}/tree/mounted && touch {tmp_path}/tree/mounted/kept && "
        f"{sys.executable} -c 'from tfmesos.agent.sandboxes.trees import remove_tree; "
        f'remove_tree("{tmp_path}/tree")\' 2>&1;'
        f"ls -R {tmp_path}/tree"
    )

    shown = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False).stdout

    assert "another file system is mounted there" in shown
    assert "kept" in shown
    assert "file\n" not in shown
