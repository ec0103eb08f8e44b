"""Waiting for descriptors and for children at once, without threads and without polling."""

import os
import select
import signal
from collections.abc import Callable, Iterable
from types import FrameType

_MAX_WAIT_S = 1e6
"""poll(2) counts milliseconds in a C int; who asks for more asks again."""


class Waiter:
    """Calls a handler for each descriptor that is ready, and one when children ended."""

    def __init__(self, on_children: Callable[[], None]) -> None:
        """A forked child makes a new one; `catch_signals` must have been called in it or in its parent."""
        self._poll = select.poll()
        self._handlers: dict[int, Callable[[], object]] = {}
        self._writers: dict[int, Callable[[], object]] = {}
        self._on_children = on_children
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._waker, False)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        self.add(self._woken, self._drain)

    def add(self, descriptor: int, handler: Callable[[], object]) -> None:
        """Call `handler` whenever it can be read or has ended."""
        self._handlers[descriptor] = handler
        self._register(descriptor)

    def add_writer(self, descriptor: int, handler: Callable[[], object]) -> None:
        """Call `handler` whenever it can be written or has ended."""
        self._writers[descriptor] = handler
        self._register(descriptor)

    def remove(self, descriptor: int) -> None:
        """Forget it as one that is read; nothing if unknown."""
        if self._handlers.pop(descriptor, None) is not None:
            self._register(descriptor)

    def remove_writer(self, descriptor: int) -> None:
        """Forget it as one that is written; nothing if unknown."""
        if self._writers.pop(descriptor, None) is not None:
            self._register(descriptor)

    def wait(self, timeout_s: float | None) -> None:
        """Call the handlers of all that is ready; returns after `timeout_s` (None: never) without any."""
        timeout_ms = None if timeout_s is None else max(0.0, min(timeout_s, _MAX_WAIT_S) * 1000 + 1)
        for descriptor, events in self._poll.poll(timeout_ms):
            if events & ~select.POLLIN and descriptor in self._writers:
                self._writers[descriptor]()
            if events & ~select.POLLOUT and descriptor in self._handlers:
                self._handlers[descriptor]()

    def _register(self, descriptor: int) -> None:
        mask = (descriptor in self._handlers and select.POLLIN) | (descriptor in self._writers and select.POLLOUT)
        if mask:
            self._poll.register(descriptor, mask)
        else:
            self._poll.unregister(descriptor)

    def close(self) -> None:
        """Close what it made, in a forked child that makes its own."""
        os.close(self._woken)
        os.close(self._waker)

    def _drain(self) -> None:
        os.read(self._woken, 4096)
        self._on_children()


def catch_signals(numbers: Iterable[signal.Signals]) -> None:
    """Have them, and SIGCHLD, do nothing but wake a Waiter.

    Caught instead of ignored: execve gives a caught signal its default meaning back, so a program needs no care.
    """
    for number in (signal.SIGCHLD, *numbers):
        signal.signal(number, _do_nothing)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """The wake-up descriptor is written because there is a handler at all."""


def reap() -> tuple[list[tuple[int, int]], bool]:
    """Pids and wait statuses of all children that ended, and whether others are left."""
    ended: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended, False
        if pid == 0:
            return ended, True
        ended.append((pid, status))
