"""Where runs and sockets lie, and what is kept of them."""

import os
import stat
from pathlib import Path

import pytest

from tfmesos.local import LocalClusterError
from tfmesos.local.directories import (
    RunDirectory,
    RuntimeDirectory,
    remove_old_runs,
    remove_stale_runtime_dirs,
    runs_dir,
)


def make_runs(runs: Path, count: int) -> list[RunDirectory]:
    made = [RunDirectory.create(runs, now=1_000_000.0 + number, pid=7) for number in range(count)]
    for number, run in enumerate(made):
        os.utime(run.path / "lock", (number + 1, number + 1))
    return made


def test_runs_lie_in_the_users_state_directory() -> None:
    assert runs_dir({"XDG_STATE_HOME": "/s"}) == Path("/s/tfmesos/runs")
    assert runs_dir({"XDG_STATE_HOME": "relative"}) == Path.home() / ".local/state/tfmesos/runs"
    assert runs_dir({}) == Path.home() / ".local/state/tfmesos/runs"


def test_two_runs_of_one_second_and_process_have_their_own_directories(tmp_path: Path) -> None:
    first, second = (RunDirectory.create(tmp_path, now=0.0, pid=7) for _ in range(2))

    assert first.path != second.path
    assert first.path.name.endswith("-7")
    assert stat.S_IMODE(first.path.stat().st_mode) == 0o700
    first.close()
    second.close()


def test_the_newest_runs_are_kept(tmp_path: Path) -> None:
    runs = make_runs(tmp_path, 5)
    for run in runs:
        run.close()

    remove_old_runs(tmp_path, keep=3)

    assert [run.path.exists() for run in runs] == [False, False, True, True, True]


def test_a_run_in_use_is_never_removed(tmp_path: Path) -> None:
    runs = make_runs(tmp_path, 4)
    for run in runs[1:]:
        run.close()

    remove_old_runs(tmp_path, keep=1)

    assert [run.path.exists() for run in runs] == [True, False, False, True]
    runs[0].close()


def test_a_state_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(LocalClusterError, match="XDG_STATE_HOME"):
        RunDirectory.create(tmp_path / "file" / "runs", now=0.0, pid=1)


def test_the_runtime_directory_is_the_users_alone_and_goes_away(tmp_path: Path) -> None:
    runtime = RuntimeDirectory.create({"XDG_RUNTIME_DIR": str(tmp_path)})

    assert runtime.path.parent == tmp_path
    assert stat.S_IMODE(runtime.path.stat().st_mode) == 0o700
    runtime.remove()
    runtime.remove()
    assert not runtime.path.exists()


def test_a_path_too_long_for_a_socket_is_passed_over(tmp_path: Path) -> None:
    long = tmp_path / ("d" * 90)
    long.mkdir()

    runtime = RuntimeDirectory.create({"XDG_RUNTIME_DIR": str(long)})

    assert len(os.fsencode(runtime.path / "master.sock")) <= 107
    assert not list(long.iterdir())
    runtime.remove()


def test_what_killed_runs_left_is_removed_but_not_what_is_in_use_or_young(tmp_path: Path) -> None:
    environ = {"XDG_RUNTIME_DIR": str(tmp_path)}
    dead, young, used = (RuntimeDirectory.create(environ) for _ in range(3))
    for runtime in (dead, used):
        os.utime(runtime.path / "lock", (1, 1))
    os.close(dead.lock)
    os.close(young.lock)
    (tmp_path / "tfmesos-of-someone").mkdir()

    remove_stale_runtime_dirs(environ, now=young.path.stat().st_mtime)

    assert not dead.path.exists()
    assert young.path.exists()
    assert used.path.exists()
    assert (tmp_path / "tfmesos-of-someone").exists()
    used.remove()
