"""A child process followed from any event loop by its pidfd: no child watcher, no signal handler, no thread."""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tfmesos.supervision import open_pidfd

__all__ = ["ChildProcess"]

_KILL_WAIT_S = 5.0


class ChildProcess:
    """A process in a session of its own: it is given one message, gives one line back, and logs to a file."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        message: bytes,
        environ: Mapping[str, str],
        log_path: Path,
        descriptors: Sequence[int],
    ) -> None:
        """Start it. Raises OSError."""
        with open(log_path, "ab") as log:
            self._popen = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=dict(environ),
                pass_fds=descriptors,
                start_new_session=True,
            )
        self._pidfd = open_pidfd(self._popen.pid)
        self._ended: asyncio.Future[None] | None = None
        assert self._popen.stdin is not None
        with contextlib.suppress(BrokenPipeError), self._popen.stdin as pipe:
            pipe.write(message)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._popen.pid

    async def read_line(self) -> bytes:
        """Its one line with the newline; less if it ends before."""
        assert self._popen.stdout is not None
        with self._popen.stdout as pipe:
            return await _read_line(pipe.fileno())

    def terminate(self) -> None:
        """Ask it to end."""
        self._popen.terminate()

    async def wait_ended(self) -> None:
        """Wait until it has ended. Any number of waiters in one event loop."""
        if self._popen.poll() is not None:
            return
        loop = asyncio.get_running_loop()
        if self._ended is None:
            self._ended = loop.create_future()
            loop.add_reader(self._pidfd, self._on_ended)
        await asyncio.shield(self._ended)

    def describe_end(self) -> str:
        """How it ended, to follow its name."""
        status = self._popen.poll()
        if status is not None and status < 0:
            return f"(process {self.pid}) was killed by signal {-status} ({signal.strsignal(-status)})"
        return f"(process {self.pid}) ended with status {status}"

    def kill(self) -> None:
        """End it at once, without an event loop, and forget it. Idempotent."""
        if self._popen.poll() is None:
            self._popen.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._popen.wait(_KILL_WAIT_S)
        self.close()

    def close(self) -> None:
        """Give its descriptors up. Idempotent."""
        if self._popen.stdout is not None:
            self._popen.stdout.close()
        if self._pidfd >= 0:
            if self._ended is not None:
                self._ended.get_loop().remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1

    def _on_ended(self) -> None:
        """A pidfd is readable when its process has ended (pidfd_open(2)), so this does not wait."""
        assert self._ended is not None
        self._ended.get_loop().remove_reader(self._pidfd)
        self._popen.wait()
        _set_done(self._ended)


async def _read_line(source: int) -> bytes:
    loop = asyncio.get_running_loop()
    os.set_blocking(source, False)
    data = bytearray()
    while not data.endswith(b"\n"):
        readable: asyncio.Future[None] = loop.create_future()
        loop.add_reader(source, _set_done, readable)
        try:
            await readable
        finally:
            loop.remove_reader(source)
        piece = os.read(source, 65536)
        if not piece:
            break
        data += piece
    return bytes(data)


def _set_done(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
