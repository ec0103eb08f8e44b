"""Waits for what the kernel tells of a cgroup: an eventfd on version 1, a modified file on version 2."""

import asyncio
import contextlib
import ctypes
import os
from collections.abc import Callable, Iterator

from tfmesos.cgroups import _files
from tfmesos.cgroups.errors import CgroupError

_IN_MODIFY, _IN_DELETE = 0x2, 0x200  # linux/inotify.h
_IN_NONBLOCK, _IN_CLOEXEC = os.O_NONBLOCK, os.O_CLOEXEC


async def wait_eventfd(directory: str, name: str, condition: Callable[[], bool]) -> bool:
    """True if `condition` holds, or once the control file `name` tells its event; False when the cgroup is removed.

    kernel: cgroup-v1/memory.rst, chapter 9; the descriptor also becomes readable when the cgroup goes.
    """
    with _descriptor(lambda: os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC), directory) as event:
        with _descriptor(lambda: os.open(f"{directory}/{name}", os.O_RDONLY | os.O_CLOEXEC), directory) as control:
            _files.write(f"{directory}/cgroup.event_control", f"{event} {control}")
        if condition():
            return True
        await _wait_readable(event)
    return _files.exists(f"{directory}/{name}")


async def wait_modified(path: str, condition: Callable[[], bool]) -> bool:
    """True once `condition` holds, looked at now and after each modification of the file; False once it is removed.

    kernel: cgroup-v2.rst: files of events generate a file modified event. Their own end is not told, but that of the
    leaf, which `destroy` removes first, in the same step.
    """
    with _descriptor(_open_inotify, path) as watch:
        _add_watch(watch, path, _IN_MODIFY)
        _add_watch(watch, os.path.dirname(path), _IN_DELETE)
        while _files.exists(path):
            if condition():
                return True
            await _wait_readable(watch)
            with contextlib.suppress(BlockingIOError):
                os.read(watch, 4096)
    return False


def _add_watch(watch: int, path: str, events: int) -> None:
    if _library().inotify_add_watch(watch, os.fsencode(path), events) < 0:
        number = ctypes.get_errno()
        raise CgroupError(f"Cannot watch {path}: {os.strerror(number)}")


async def _wait_readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


@contextlib.contextmanager
def _descriptor(opening: Callable[[], int], place: str) -> Iterator[int]:
    try:
        descriptor = opening()
    except OSError as error:
        raise CgroupError(f"Cannot watch {place}: {error.strerror}") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open_inotify() -> int:
    descriptor: int = _library().inotify_init1(_IN_NONBLOCK | _IN_CLOEXEC)
    if descriptor < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return descriptor


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
