"""Where tasks live on disk (Mesos 1.11).

<work_dir>/
  agent.lock                                  held by the running agent
  slaves/
    latest -> <agent id>
    <agent id>/frameworks/<framework id>/executors/<executor id>/runs/
      latest -> <container id>
      <container id>/                         the sandbox: mode 0750, owned by the task's user
        stdout, stderr                        made by the supervisor
        containers/<nested container id>/     a sandbox, too
  containers/<container id>/                  the sandbox of a standalone container
  gpu/nvidia_<version>/                       the NVIDIA driver's files for images (agent/gpu/volume)
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from pathlib import Path

from tfmesos.agent.errors import WorkDirInUse
from tfmesos.agent.sandboxes.inner import SANDBOX_MODE, Owner
from tfmesos.agent.sandboxes.trees import remove_tree

_TRIES = 5


class WorkDir:
    """The work directory of one agent: its lock and the paths below it."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._lock: int | None = None

    def lock(self) -> None:
        """Make the directory and hold it until `unlock`; raises WorkDirInUse if another agent does."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.path = self.path.resolve()
        lock = os.open(self.path / "agent.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise WorkDirInUse(str(self.path)) from None
        self._lock = lock

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def enter_agent(self, agent_id: str) -> None:
        """Make the agent's own directory and point `slaves/latest` at it."""
        slaves = self.path / "slaves"
        (slaves / agent_id).mkdir(parents=True, exist_ok=True)
        _point(slaves / "latest", agent_id)

    def executor(self, agent_id: str, framework_id: str, executor_id: str) -> str:
        """The directory of an executor's runs."""
        return f"{self.path}/slaves/{agent_id}/frameworks/{framework_id}/executors/{executor_id}/runs"

    def standalone(self, container_id: str) -> str:
        """The sandbox of a standalone container."""
        return f"{self.path}/containers/{container_id}"


def make_sandbox(directory: str, owner: Owner | None, *, is_latest: bool) -> None:
    """Make a container's sandbox with its parents; with `is_latest` the link beside it points here. Raises OSError.

    What is there under this name was left by a launch that a killed agent did not get to note down: it goes first.
    """
    parent, _, name = directory.rpartition("/")
    _make_with_parents(parent, directory)
    os.chmod(directory, SANDBOX_MODE)  # whatever the umask is
    if owner is not None:
        os.chown(directory, owner.uid, owner.gid)
    if is_latest:
        _point(f"{parent}/latest", name)


def _make_with_parents(parent: str, directory: str) -> None:
    for _ in range(_TRIES - 1):
        with contextlib.suppress(FileNotFoundError):  # `remove_run` found the parent empty and removed it
            _make_anew(parent, directory)
            return
    _make_anew(parent, directory)


def _make_anew(parent: str, directory: str) -> None:
    os.makedirs(parent, exist_ok=True)
    try:
        os.mkdir(directory, SANDBOX_MODE)
    except FileExistsError:
        remove_tree(directory)
        os.mkdir(directory, SANDBOX_MODE)


def old_runs(work_dir: Path) -> dict[str, float]:
    """The sandboxes of tasks and executors of all agents that used a work directory, and when they changed last.

    There may be very many.
    """
    found = {}
    for path in (work_dir / "slaves").glob("*/frameworks/*/executors/*/runs/*"):
        with contextlib.suppress(OSError):
            status = path.lstat()
            if stat.S_ISDIR(status.st_mode):
                found[str(path)] = status.st_mtime
    return found


def remove_run(work_dir: Path, directory: str) -> None:
    """Remove a sandbox, and the directories above it that are empty then. Raises OSError for what cannot be removed."""
    remove_tree(directory)
    slaves = work_dir / "slaves"
    runs = Path(directory).parent
    if slaves not in runs.parents:
        return
    latest = runs / "latest"
    if latest.is_symlink() and not latest.exists():
        latest.unlink(missing_ok=True)
    for above in (runs, *runs.parents):
        if above == slaves or (above.parent == slaves and os.path.realpath(slaves / "latest") == str(above)):
            return
        try:
            above.rmdir()
        except OSError:  # there is more in it
            return


def id_fault(name: str, value: str) -> str | None:
    """Why an id cannot be a directory's name; None if it can (Mesos 1.11: common ID validation)."""
    if not value:
        return f"the {name} is empty"
    if value in (".", "..") or any(character in "/\\" or not character.isprintable() for character in value):
        return f"the {name} {value!r} cannot name a directory"
    return None


def _point(link: Path | str, target: str) -> None:
    """Make a symbolic link or turn an existing one, so that there is always one."""
    try:
        os.symlink(target, link)
    except FileExistsError:
        fresh = f"{link}.new"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(fresh)
        os.symlink(target, fresh)
        os.replace(fresh, link)
