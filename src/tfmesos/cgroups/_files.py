"""Reads and writes the small files of a cgroup; every failure becomes a CgroupError with the path."""

import contextlib
import errno
import os
from collections.abc import Iterable

from tfmesos.cgroups.errors import CgroupError


def write(path: str, text: str) -> None:
    """One write, as the kernel wants it: one line is one order."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        raise CgroupError(f"Cannot write '{text}' to {path}: {error.strerror}") from error


def try_write(path: str, text: str) -> bool:
    """The same for what need not be there; False if it is not, or if the kernel refuses."""
    try:
        write(path, text)
    except CgroupError:
        return False
    return True


def read(path: str) -> str:
    """The whole file."""
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except OSError as error:
        raise CgroupError(f"Cannot read {path}: {error.strerror}") from error


def read_limit(path: str) -> int | None:
    """A number, or None for `max`."""
    text = read(path).strip()
    return None if text == "max" else parse_number(path, text)


def read_number(path: str) -> int:
    """One number."""
    return parse_number(path, read(path).strip())


def read_table(path: str) -> dict[str, int]:
    """Lines of a name and a number."""
    rows = (line.split() for line in read(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}


def parse_number(path: str, text: str) -> int:
    """Of what stood in a file."""
    try:
        return int(text)
    except ValueError as error:
        raise CgroupError(f"Cannot understand {path}: expecting a number, found {text!r}") from error


def exists(path: str) -> bool:
    """It can still be found there."""
    return os.path.exists(path)


def make_directory(path: str) -> bool:
    """True if it was made, False if it was there."""
    try:
        os.mkdir(path)
    except FileExistsError:
        if os.path.isdir(path):
            return False
        raise CgroupError(f"Cannot make the cgroup {path}: a control file has this name") from None
    except OSError as error:
        raise CgroupError(f"Cannot make the cgroup {path}: {error.strerror}") from error
    return True


def enable(path: str, controllers: Iterable[str]) -> None:
    """Let the children of a version 2 cgroup have these controllers."""
    if not controllers:
        return
    file = f"{path}/cgroup.subtree_control"
    missing = sorted(set(controllers) - set(read(file).split()))
    if not missing:
        return
    try:
        write(file, " ".join(f"+{controller}" for controller in missing))
    except CgroupError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EBUSY:
            raise CgroupError(f"{error} (move the processes of {path}/cgroup.procs to a cgroup below it)") from error
        raise


def directories(path: str) -> list[str]:
    """Names of the cgroups right below one; none if it does not exist."""
    try:
        with os.scandir(path) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def tree(path: str) -> list[str]:
    """A cgroup and all below it, each before what is below it."""
    return [path, *(below for name in directories(path) for below in tree(f"{path}/{name}"))]


def read_pids(path: str) -> set[int]:
    """Processes in a cgroup and below it; empty if it does not exist.

    A process of another pid namespace is listed as 0, which must never be signalled: it means one's own group.
    """
    found: set[int] = set()
    for cgroup in tree(path):
        with contextlib.suppress(OSError), open(f"{cgroup}/cgroup.procs", encoding="ascii") as file:
            found.update(int(line) for line in file)
    return found - {0}


def remove_tree(path: str) -> bool:
    """Remove a cgroup with those below it, as far as they are empty; True if nothing is left."""
    for cgroup in reversed(tree(path)):
        with contextlib.suppress(OSError):
            os.rmdir(cgroup)
    return not exists(path)
