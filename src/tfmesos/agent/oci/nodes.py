"""Device nodes in the /dev of a container that runs, made and removed from outside.

A thread of its own enters the container's mount namespace and ends there (kernel: setns(2): a thread that shares its
root and working directory with no other one may). So paths are the container's: they lead out of it no more than those
of its own programs do.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Thread

from tfmesos.agent.isolators.view import Node

_CLONE_FS = 0x200
_CLONE_NEWNS = 0x20000
"""kernel: include/uapi/linux/sched.h"""
_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_TYPES = {"c": stat.S_IFCHR, "b": stat.S_IFBLK}


def set_nodes(namespace: int, wanted: Sequence[Node], absent: Sequence[Node]) -> None:
    """Let there be the wanted ones and none of the absent ones, where `namespace`, a descriptor, leads.

    What is there already as it is wanted stays. Raises OSError; it blocks for some system calls.
    """
    libc = ctypes.CDLL(None, use_errno=True)  # nothing can be loaded any more in the other namespace

    def work() -> None:
        _check(libc.unshare(_CLONE_FS))
        _check(libc.setns(namespace, _CLONE_NEWNS))
        os.umask(0)
        for node in wanted:
            _make(node)
        for node in absent:
            _remove(node)

    _in_own_thread(work)


def _in_own_thread(work: Callable[[], None]) -> None:
    failures: list[OSError] = []

    def run() -> None:
        try:
            work()
        except OSError as error:
            failures.append(error)

    thread = Thread(target=run, name="nodes of a container")
    thread.start()
    thread.join()
    for failure in failures:
        raise failure


def _check(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _make(node: Node) -> None:
    with _parent(node.path, makes=True) as (parent, name):
        if not _is_there(node, parent, name):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=parent)
            device = os.makedev(node.major, node.minor)
            os.mknod(name, _TYPES[node.type] | node.mode, device, dir_fd=parent)
        os.chown(name, node.uid, node.gid, dir_fd=parent, follow_symlinks=False)


def _remove(node: Node) -> None:
    with suppress(FileNotFoundError, NotADirectoryError), _parent(node.path, makes=False) as (parent, name):
        os.unlink(name, dir_fd=parent)


def _is_there(node: Node, parent: int, name: str) -> bool:
    try:
        found = os.lstat(name, dir_fd=parent)
    except FileNotFoundError:
        return False
    return (found.st_mode, found.st_rdev) == (_TYPES[node.type] | node.mode, os.makedev(node.major, node.minor))


@contextmanager
def _parent(path: str, *, makes: bool) -> Iterator[tuple[int, str]]:
    """A descriptor of the directory that an absolute path leads to without links, and the name in it."""
    *way, name = path.strip("/").split("/")
    here = os.open("/", _DIRECTORY)
    try:
        for step in way:
            if makes:
                with suppress(FileExistsError):
                    os.mkdir(step, 0o755, dir_fd=here)
            below = os.open(step, _DIRECTORY, dir_fd=here)
            os.close(here)
            here = below
        yield here, name
    finally:
        os.close(here)
