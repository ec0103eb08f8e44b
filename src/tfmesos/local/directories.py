"""Where the embedded cluster keeps things.

$XDG_STATE_HOME/tfmesos/runs/           (~/.local/state without it)
  20261130-192204-4711/                 one run: start time and the launcher's process id
    lock                                flock held while the run lives
    cluster.log                         the child process's log
    agent/                              the agent's work_dir: sandboxes
      provisioner/                      root file systems of containers, gone after the run
$XDG_RUNTIME_DIR/tfmesos-XXXXXXXX/      mode 0700, gone after the run (/tmp without it)
  lock                                  flock held while the run lives
  master.sock  agent.sock
  run/                                  records of the running containers
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from tfmesos.local.errors import LocalClusterError

__all__ = ["RunDirectory", "RuntimeDirectory", "remove_old_runs", "remove_stale_runtime_dirs", "runs_dir"]

RUNS_KEPT = 10

_LOCK_NAME = "lock"
_PREFIX = "tfmesos-"
_YOUNG_S = 60.0

_SOCKET_PATH_LIMIT = 107
"""Bytes of a unix socket's path (unix(7): sun_path has 108 with the closing NUL)."""
_LONGEST_NAME = len("/master.sock")


def runs_dir(environ: Mapping[str, str]) -> Path:
    """Where this user's runs are kept (XDG base directory specification: a relative path there is to be ignored)."""
    state_home = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state_home):
        state_home = os.path.expanduser("~/.local/state")
    return Path(state_home) / "tfmesos" / "runs"


class RunDirectory:
    """The directory of one run, locked so that no other run removes it."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self.lock = lock

    @classmethod
    def create(cls, runs: Path, *, now: float, pid: int) -> "RunDirectory":
        """Make and lock a new directory. Raises `LocalClusterError` where the user cannot write."""
        stem = f"{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}-{pid}"
        try:
            runs.mkdir(parents=True, exist_ok=True)
            path = _make_new(runs, stem)
            return cls(path, _lock(path / _LOCK_NAME))
        except OSError as error:
            raise LocalClusterError(
                f"cannot make a directory for this run: {error}; set XDG_STATE_HOME to one that can be written"
            ) from error

    @property
    def log_path(self) -> Path:
        """The child process's log."""
        return self.path / "cluster.log"

    def close(self) -> None:
        """Give the lock up; the directory stays, without what a killed agent has left of images. Idempotent."""
        shutil.rmtree(self.path / "agent/provisioner", ignore_errors=True)
        self.lock = _release(self.lock)

    def remove(self) -> None:
        """Remove it, of a run that did not begin, and give the lock up. Idempotent."""
        if self.lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
        self.close()


class RuntimeDirectory:
    """A fresh directory that only this user can enter, with a path short enough for sockets."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self.lock = lock

    @classmethod
    def create(cls, environ: Mapping[str, str]) -> "RuntimeDirectory":
        """Make and lock one. Raises `LocalClusterError` where there is no place."""
        problem = "every path is too long"
        for parent in _runtime_parents(environ):
            try:
                path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
            except OSError as error:
                problem = str(error)
                continue
            if len(os.fsencode(path)) + _LONGEST_NAME <= _SOCKET_PATH_LIMIT:
                return cls(path, _lock(path / _LOCK_NAME))
            path.rmdir()
        raise LocalClusterError(f"no directory for unix sockets: {problem}; set XDG_RUNTIME_DIR to a short path")

    def remove(self) -> None:
        """Remove it and give the lock up. Idempotent."""
        if self.lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
        self.lock = _release(self.lock)


def remove_old_runs(runs: Path, *, keep: int = RUNS_KEPT) -> None:
    """Remove all but the `keep` newest runs, and never one in use."""
    with contextlib.suppress(OSError):
        ordered = sorted((entry for entry in runs.iterdir() if entry.is_dir()), key=_age_order, reverse=True)
        for path in ordered[keep:]:
            _remove_unless_locked(path)


def remove_stale_runtime_dirs(environ: Mapping[str, str], *, now: float) -> None:
    """Remove this user's runtime directories whose cluster and launcher were both killed: their lock is free.

    Young ones stay: between the making of a lock file and its lock there is a moment.
    """
    for parent in _runtime_parents(environ):
        with contextlib.suppress(OSError):
            for path in parent.glob(_PREFIX + "*"):
                if path.stat().st_uid == os.geteuid() and 0 < _started_at(path) < now - _YOUNG_S:
                    _remove_unless_locked(path)


def _runtime_parents(environ: Mapping[str, str]) -> list[Path]:
    wanted = [environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp", "/dev/shm"]
    return [Path(parent) for parent in dict.fromkeys(wanted) if os.path.isabs(parent)]


def _make_new(runs: Path, stem: str) -> Path:
    number = 1
    while True:
        path = runs / (stem if number == 1 else f"{stem}-{number}")
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            number += 1
        else:
            return path


def _age_order(path: Path) -> tuple[float, str]:
    return (_started_at(path), path.name)


def _started_at(path: Path) -> float:
    """When the directory was locked first; 0.0 where nothing tells."""
    with contextlib.suppress(OSError):
        return (path / _LOCK_NAME).stat().st_mtime
    return 0.0


def _lock(path: Path) -> int:
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise
    return lock


def _release(lock: int) -> int:
    if lock >= 0:
        os.close(lock)
    return -1


def _remove_unless_locked(path: Path) -> None:
    try:
        lock = _lock(path / _LOCK_NAME)
    except OSError:
        return
    try:
        shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)
