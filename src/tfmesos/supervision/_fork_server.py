"""The process that forks supervisors: small, so that forks are quick; a subreaper, to end what a lost one leaves.

It is asked over a SOCK_SEQPACKET socket: one message with one descriptor (the new supervisor's channel) is one fork. It
says, there, "<pid> <wait status>" of each supervisor that ended, when nothing of its tree is left.
"""

import gc
import os
import signal
import socket
from time import monotonic

from tfmesos.supervision._frames import Kind, encode_frame
from tfmesos.supervision._supervisor import Supervisor
from tfmesos.supervision._tree import become_subreaper, children_of, signal_tree
from tfmesos.supervision._waking import Waiter, catch_signals, reap

_PATIENCE_S = 4.5
"""With supervisors whose owner is gone: they grant 3 s of grace (Life) and end by themselves."""
_RETRY_S = 0.5
_PYTHONS_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)
"""Python ignores them, and wants EPIPE and EFBIG to stay errors."""
_TERMINALS_SIGNALS = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM)
"""They go to the whole process group; the program decides what they mean."""


class ForkServer:
    """Ends when its owner is gone and no child is left."""

    def __init__(self, requests: socket.socket, owner: int) -> None:
        """`owner` is the pidfd of the process that asks."""
        self._requests = requests
        self._owner = owner
        self._supervisors: set[int] = set()
        self._lost: list[tuple[int, int]] = []
        self._closing_at: float | None = None
        self._alive, self._alive_writer = os.pipe()
        become_subreaper(b"tfmesos-forks")
        self._waiter = Waiter(self._on_children)
        self._waiter.add(requests.fileno(), self._on_request)
        self._waiter.add(owner, self._on_owner_gone)

    def run(self) -> None:
        """Serve until the owner is gone, then until the last child has ended."""
        while self._closing_at is None or self._supervisors or self._lost:
            self._waiter.wait(self._patience())
            if self._closing_at is not None and monotonic() >= self._closing_at:
                for pid in self._supervisors:
                    os.kill(pid, signal.SIGKILL)
            if self._lost:
                self._end_orphans()

    def _patience(self) -> float | None:
        if self._lost:
            return _RETRY_S
        return None if self._closing_at is None else max(_RETRY_S, self._closing_at - monotonic())

    def _on_request(self) -> None:
        try:
            message, descriptors, _, _ = socket.recv_fds(self._requests, 16, 1)
        except ConnectionError:
            message, descriptors = b"", []
        if not message:
            self._on_owner_gone()
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)  # recv_fds leaves them so that a program would get them
            with socket.socket(fileno=descriptor) as control:
                self._fork(control)

    def _on_owner_gone(self) -> None:
        self._waiter.remove(self._requests.fileno())
        self._waiter.remove(self._owner)
        if self._closing_at is None:
            self._closing_at = monotonic() + _PATIENCE_S

    def _fork(self, control: socket.socket) -> None:
        try:
            pid = os.fork()
        except OSError as error:
            control.sendall(encode_frame(Kind.REFUSED, f"cannot fork a supervisor: {error.strerror}".encode()))
            return
        if pid:
            self._supervisors.add(pid)
            return
        status = 1
        try:
            self._waiter.close()
            self._requests.close()
            os.close(self._alive_writer)
            Supervisor(control, self._owner, self._alive).run()
            status = 0
        finally:
            if status:
                _print_failure()
            os._exit(status)

    def _on_children(self) -> None:
        ended, _ = reap()
        for pid, status in ended:
            if pid in self._supervisors:
                self._supervisors.discard(pid)
                if status:
                    self._lost.append((pid, status))
                else:
                    self._say(f"{pid} 0".encode())

    def _end_orphans(self) -> None:
        """Kill what lost supervisors left; once nothing is left, say that they were lost."""
        if any(pid not in self._supervisors for pid in children_of(os.getpid())):
            signal_tree(os.getpid(), signal.SIGKILL, spare=self._supervisors)
            return
        for pid, status in self._lost:
            self._say(f"{pid} {status}".encode())
        self._lost.clear()

    def _say(self, message: bytes) -> None:
        try:
            self._requests.send(message)
        except OSError:
            return  # the owner is gone, which is noticed where its requests are read


def _print_failure() -> None:
    """A supervisor's own fault: say it where the owner's log goes."""
    import traceback

    traceback.print_exc()


def main(requests: int, owner: int, *, has_terminal: bool) -> None:
    """Run in a process of its own; never raises for what its owner or a supervisor does."""
    for number in signal.valid_signals():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    catch_signals(_PYTHONS_SIGNALS + _TERMINALS_SIGNALS if has_terminal else _PYTHONS_SIGNALS)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for descriptor in (requests, owner):
        os.set_inheritable(descriptor, False)
    server = ForkServer(socket.socket(fileno=requests), owner)
    gc.freeze()
    server.run()
