"""Where `tfrun` writes: standard output and error, from a thread, so that a slow reader does not stop the loop."""

import asyncio
import contextlib
import os
import queue
import select
import threading
from collections.abc import Callable

from tfmesos.launcher import Stream

__all__ = ["Terminal"]

_STDOUT, _STDERR = 1, 2


class Terminal:
    """A TextSink. Bytes are written in the order they are given; `write_log` returns when its bytes are written.

    When standard output cannot be written any more, for nobody reads it or its disk is full, `on_closed` is called once
    with the reason, in the loop, and the rest is dropped.
    """

    def __init__(self, on_closed: Callable[[OSError], None]) -> None:
        self._on_closed = on_closed
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[tuple[int, bytes, asyncio.Future[None] | None]] = queue.SimpleQueue()
        self._closed: set[int] = set()
        threading.Thread(target=self._write_for_ever, name="tfrun-output", daemon=True).start()

    async def write_log(self, stream: Stream, data: bytes) -> None:
        """Whole lines of tasks."""
        await self._put(_STDOUT if stream is Stream.STDOUT else _STDERR, data)

    def write_note(self, text: str) -> None:
        """A note of the launcher, each line with the program's name."""
        lines = "".join(f"tfrun: {line}\n" for line in text.splitlines())
        self._queue.put((_STDERR, lines.encode("utf-8", "backslashreplace"), None))

    async def print_text(self, text: str) -> None:
        """A text for standard error as it is."""
        await self._put(_STDERR, f"{text}\n".encode("utf-8", "backslashreplace"))

    async def flush(self) -> None:
        """Wait until all is written."""
        await self._put(_STDERR, b"")

    async def _put(self, descriptor: int, data: bytes) -> None:
        written: asyncio.Future[None] = self._loop.create_future()
        self._queue.put((descriptor, data, written))
        await written

    def _write_for_ever(self) -> None:
        while True:
            descriptor, data, written = self._queue.get()
            if descriptor not in self._closed:
                try:
                    _write(descriptor, data)
                except OSError as error:
                    self._closed.add(descriptor)
                    if descriptor == _STDOUT:
                        self._tell(self._on_closed, error)
            if written is not None:
                self._tell(_set_done, written)

    def _tell(self, callback: Callable[..., None], *arguments: object) -> None:
        """Call in the loop, unless that is over."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback, *arguments)


def _write(descriptor: int, data: bytes) -> None:
    """Write all. Raises OSError when that is not possible any more."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            # Whoever shares the descriptor with us has made it non-blocking.
            select.select([], [descriptor], [])


def _set_done(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
