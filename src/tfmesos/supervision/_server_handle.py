"""The fork server as its owner sees it: started, asked, noticed when lost."""

import asyncio
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tfmesos.supervision._place import Place
from tfmesos.supervision.errors import SupervisionError, SupervisorLost
from tfmesos.supervision.processes import open_pidfd, process_start_time

_PACKAGE = Path(__file__).resolve().parent.parent
_BOOT = """
import sys
for name, path in (("tfmesos", sys.argv[1]), ("tfmesos.supervision", sys.argv[1] + "/supervision")):
    module = sys.modules[name] = type(sys)(name)
    module.__path__ = [path]
from tfmesos.supervision._fork_server import main
main(int(sys.argv[2]), int(sys.argv[3]), has_terminal=sys.argv[4] == "terminal", max_descriptors=int(sys.argv[5]))
"""
"""It must stay small, so it loads its modules without running the packages' doors."""


class ServerHandle:
    """One fork server process. `on_supervisor_gone(pid, wait status)` and `on_lost(handle)` are called in the loop."""

    def __init__(
        self, on_supervisor_gone: Callable[[int, int], None], on_lost: Callable[["ServerHandle"], None]
    ) -> None:
        """Nothing is started yet."""
        self._on_supervisor_gone = on_supervisor_gone
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._requests: socket.socket | None = None
        self._exited = asyncio.Event()

    @property
    def is_alive(self) -> bool:
        """Started, not closed and not lost, even if this loop has not noticed yet."""
        return self._requests is not None and not is_readable(self._pidfd)

    @property
    def has_exited(self) -> bool:
        """Nothing will be heard from it any more."""
        return self._exited.is_set()

    @property
    def pid(self) -> int:
        """Of the process, which may have ended."""
        return self._process.pid

    def start(self, *, has_terminal: bool, max_descriptors: int | None) -> None:
        """Start the process; with a terminal it keeps stdin, stdout, stderr and the process group of this one.

        `max_descriptors`: see `Supervisors`.
        """
        try:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        except OSError as error:
            raise SupervisionError(f"cannot talk to a fork server: {error.strerror} (see ulimit -n)") from error
        try:
            me = open_pidfd(os.getpid())
        except OSError as error:
            ours.close()
            theirs.close()
            raise SupervisionError(f"pidfd_open: {error.strerror}; Linux 5.3 or later is needed") from error
        try:
            arguments = [str(theirs.fileno()), str(me), "terminal" if has_terminal else "none"]
            self._process = _spawn([*arguments, str(max_descriptors or 0)], (theirs.fileno(), me), has_terminal)
        except OSError as error:
            ours.close()
            raise SupervisionError(f"cannot start the fork server with {sys.executable!r}: {error}") from error
        finally:
            theirs.close()
            os.close(me)
        self._pidfd = open_pidfd(self._process.pid)
        self.start_time = process_start_time(self._process.pid) or 0
        self._loop.add_reader(self._pidfd, self._on_exit)
        ours.setblocking(False)
        self._requests = ours
        self._loop.add_reader(ours, self._on_message)

    async def fork(self, control: socket.socket, place: Place | None, *, is_detached: bool) -> None:
        """Ask for a supervisor at the other end of `control`, with its place."""
        request = (b"d" if is_detached else b"a") + (os.fsencode(place.socket_path) if place else b"")
        descriptors = [control.fileno(), *(place.descriptors if place else ())]
        while self._requests is not None:
            try:
                socket.send_fds(self._requests, [request], descriptors)
                return
            except BlockingIOError:  # hundreds of requests wait there
                await asyncio.sleep(0.001)
            except OSError as error:
                self._close_requests()
                raise SupervisorLost(f"the fork server (pid {self.pid}) was lost") from error
        raise SupervisorLost("the fork server was lost")

    async def close(self) -> None:
        """Let it end, which it does when its supervisors have; waits for that."""
        self._close_requests()
        await self._exited.wait()

    def leave(self) -> None:
        """Let it go on without this process, for the sake of detached programs."""
        self._close_requests()
        if not self._exited.is_set():
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._exited.set()
            self._process.returncode = 0  # else Popen warns of what is meant to go on

    def _close_requests(self) -> None:
        if self._requests is not None:
            self._loop.remove_reader(self._requests)
            self._requests.close()
            self._requests = None

    def _on_message(self) -> None:
        if self._requests is None:
            return
        try:
            message = self._requests.recv(64)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            message = b""
        if message:
            pid, status = message.split()
            self._on_supervisor_gone(int(pid), int(status))
        else:
            self._close_requests()

    def _on_exit(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._process.wait()
        while self._requests is not None:  # what it said before it ended
            self._on_message()
        self._exited.set()
        self._on_lost(self)


def is_readable(descriptor: int) -> bool:
    """Whether it is now; for a pidfd: whether the process has ended."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def _spawn(arguments: list[str], descriptors: tuple[int, ...], has_terminal: bool) -> "subprocess.Popen[bytes]":
    files = None if has_terminal else subprocess.DEVNULL
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM})
    try:  # it inherits the mask: Ctrl-C shall not end it before it can ignore it
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _BOOT, str(_PACKAGE), *arguments],
            stdin=files,
            stdout=files,
            pass_fds=descriptors,
            cwd="/",
            start_new_session=not has_terminal,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
