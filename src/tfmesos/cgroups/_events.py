"""Waits for what the kernel tells of a cgroup: an eventfd on version 1, a file that changes on version 2."""

import asyncio
import contextlib
import os
import select
from collections.abc import Callable, Iterator

from tfmesos.cgroups import _files
from tfmesos.cgroups.errors import CgroupError


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


async def wait_modified(path: str, condition: Callable[[], bool]) -> None:
    """Return once `condition` holds, looked at now and whenever the kernel says that the file has changed; CgroupError.

    kernel: cgroup-v2.rst: files of events can be polled. (inotify tells it, too, but a user has 128 of it in all.) A
    read takes notice of what was before; the end of the cgroup is not told.
    """
    with _descriptor(lambda: os.open(path, os.O_RDONLY | os.O_CLOEXEC), path) as file, select.epoll() as changes:
        try:
            changes.register(file, select.EPOLLPRI)
            while True:
                os.pread(file, 4096, 0)
                if condition():
                    return
                await _wait_readable(changes.fileno())
        except OSError as error:
            raise CgroupError(f"Cannot watch {path}: {error.strerror}") from error


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
