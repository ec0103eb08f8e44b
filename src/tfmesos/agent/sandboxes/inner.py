"""What the agent makes in a sandbox for its container, and the sandboxes nested in it.

A sandbox belongs to a user, who may have put links in it: none is followed, every step is taken by descriptor.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass

from tfmesos.agent.sandboxes.trees import remove_tree_at

SANDBOX_MODE = 0o750
_MODE = 0o755
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whom a sandbox belongs to."""

    uid: int
    gid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A directory that others than root may fill, reached by these steps from one whose path is trusted."""

    path: str
    steps: tuple[str, ...] = ()


def make_nested_sandbox(parent: str, name: str, owner: Owner | None) -> None:
    """Make `containers/<name>` in a container's sandbox. Raises OSError.

    What is there under this name was left by a launch that a killed agent did not get to note down: it goes first.
    """
    with contextlib.ExitStack() as opened:
        sandbox = _enter(opened, parent)
        is_new = _make_directory("containers", sandbox, SANDBOX_MODE)
        containers = _enter(opened, "containers", sandbox)
        if is_new:
            _hand_over(containers, owner)
        if not _make_directory(name, containers, SANDBOX_MODE):
            remove_tree_at(containers, name)
            os.mkdir(name, SANDBOX_MODE, dir_fd=containers)
        _hand_over(_enter(opened, name, containers), owner)


def remove_nested_sandbox(parent: str, name: str) -> None:
    """Remove what `make_nested_sandbox` made, with all in it. Raises OSError for what cannot be removed."""
    with contextlib.suppress(FileNotFoundError), contextlib.ExitStack() as opened:
        sandbox = _enter(opened, parent)
        remove_tree_at(_enter(opened, "containers", sandbox), name)


def make_inner_directory(base: Base, path: str, *, inherits: bool = False) -> None:
    """Make a directory below `base`, with those above it; what is there stays.

    `inherits`: what is new belongs to whom the directory belongs that it is in. Raises OSError: for a path that leaves
    `base`, and for what is a link or no directory.
    """
    with contextlib.ExitStack() as opened:
        _descend(opened, base, _parts(path), inherits=inherits)


def make_inner_file(base: Base, path: str) -> None:
    """The same for an empty file; one that is there stays as it is."""
    *above, name = _parts(path)
    with contextlib.ExitStack() as opened:
        directory = _descend(opened, base, above)
        try:
            os.close(os.open(name, _NEW_FILE, 0o644, dir_fd=directory))
        except FileExistsError:
            if not stat.S_ISREG(os.lstat(name, dir_fd=directory).st_mode):
                raise


def make_inner_link(base: Base, path: str, target: str) -> None:
    """The same for a symbolic link; one that is there is replaced. New directories above inherit."""
    *above, name = _parts(path)
    with contextlib.ExitStack() as opened:
        directory = _descend(opened, base, above, inherits=True)
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISLNK(os.lstat(name, dir_fd=directory).st_mode):
                os.unlink(name, dir_fd=directory)
        os.symlink(target, name, dir_fd=directory)


def _parts(path: str) -> list[str]:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts or not parts:
        raise OSError(errno.EINVAL, "the path leads out of the sandbox", path)
    return parts


def _descend(opened: contextlib.ExitStack, base: Base, parts: Sequence[str], *, inherits: bool = False) -> int:
    """The directory at the end of the parts, which are made where they are missing."""
    directory = _enter(opened, base.path)
    for step in base.steps:
        directory = _enter(opened, step, directory)
    for part in parts:
        is_new = _make_directory(part, directory, _MODE)
        around = os.fstat(directory)
        directory = _enter(opened, part, directory)
        if is_new and inherits:
            os.fchown(directory, around.st_uid, around.st_gid)
    return directory


def _enter(opened: contextlib.ExitStack, path: str, base: int | None = None) -> int:
    """Open a directory that is no link, until `opened` is left."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=base)
    opened.callback(os.close, directory)
    return directory


def _make_directory(name: str, base: int, mode: int) -> bool:
    """Whether it was not there yet."""
    try:
        os.mkdir(name, mode, dir_fd=base)
    except FileExistsError:
        return False
    return True


def _hand_over(directory: int, owner: Owner | None) -> None:
    os.fchmod(directory, SANDBOX_MODE)  # whatever the umask is
    if owner is not None:
        os.fchown(directory, owner.uid, owner.gid)
