"""The process that forks supervisors: small, so that forks are quick; a subreaper, to end what a lost one leaves.

It is asked over a SOCK_SEQPACKET socket, one message for one fork: a letter, d if it is for a detached program, then
where the supervisor can be reached by others; with the descriptors of its channel, of the listener bound there and of
its record, or of the channel alone. It says, there, "<pid> <wait status>" of each supervisor that ended, when nothing
of its tree is left. Its owner gone, it stays until the detached have ended.
"""

import gc
import os
import signal
import socket
from contextlib import suppress
from time import monotonic

from tfmesos.supervision._frames import Kind, encode_frame
from tfmesos.supervision._supervisor import Supervisor, leave_terminal
from tfmesos.supervision._tree import become_subreaper, children_of, signal_tree
from tfmesos.supervision._waking import Waiter, catch_signals, reap

_PATIENCE_S = 7.0
"""With supervisors whose owner is gone: they grant 3 s of grace (Life), run an epilogue and end by themselves."""
_RETRY_S = 0.5
_MAX_REQUEST = 8192
"""A letter and a path (kernel: PATH_MAX is 4096)."""
_PYTHONS_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)
"""Python ignores them, and wants EPIPE and EFBIG to stay errors."""
_TERMINALS_SIGNALS = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM)
"""They go to the whole process group; the program decides what they mean."""


class Kept:
    """What is known of a supervisor."""

    __slots__ = ("is_detached", "path")

    def __init__(self, request: bytes) -> None:
        self.is_detached = request[:1] == b"d"
        self.path = request[1:]


class ForkServer:
    """Ends when its owner is gone and no child is left."""

    def __init__(self, requests: socket.socket, owner: int) -> None:
        """`owner` is the pidfd of the process that asks."""
        self._requests = requests
        self._owner = owner
        self._supervisors: dict[int, Kept] = {}
        self._lost: list[tuple[int, int, Kept]] = []
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
                for pid in self._attached():
                    os.kill(pid, signal.SIGKILL)
            if self._lost:
                self._end_orphans()

    def _patience(self) -> float | None:
        if self._lost:
            return _RETRY_S
        if self._closing_at is None or not self._attached():
            return None
        return max(_RETRY_S, self._closing_at - monotonic())

    def _attached(self) -> list[int]:
        """Supervisors that may not outlive the owner."""
        return [pid for pid, kept in self._supervisors.items() if not kept.is_detached]

    def _on_request(self) -> None:
        try:
            message, descriptors, _, _ = socket.recv_fds(self._requests, _MAX_REQUEST, 3)
        except ConnectionError:
            message, descriptors = b"", []
        if not message:
            self._on_owner_gone()
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)  # recv_fds leaves them so that a program would get them
        if descriptors:
            with socket.socket(fileno=descriptors[0]) as control:
                self._fork(control, descriptors[1:], Kept(message))
            for descriptor in descriptors[1:]:
                os.close(descriptor)

    def _on_owner_gone(self) -> None:
        self._waiter.remove(self._requests.fileno())
        self._waiter.remove(self._owner)
        if self._closing_at is None:
            self._closing_at = monotonic() + _PATIENCE_S
            leave_terminal()

    def _fork(self, control: socket.socket, others: list[int], kept: Kept) -> None:
        try:
            pid = os.fork()
        except OSError as error:
            control.sendall(encode_frame(Kind.REFUSED, f"cannot fork a supervisor: {error.strerror}".encode()))
            return
        if pid:
            self._supervisors[pid] = kept
            return
        status = 1
        try:
            self._waiter.close()
            self._requests.close()
            os.close(self._alive_writer)
            supervisor = Supervisor(control, self._owner, self._alive)
            if others:
                listener, record = others
                supervisor.be_reachable(socket.socket(fileno=listener), kept.path, record)
            supervisor.run()
            status = 0
        finally:
            if status:
                _print_failure()
            os._exit(status)

    def _on_children(self) -> None:
        ended, _ = reap()
        for pid, status in ended:
            kept = self._supervisors.pop(pid, None)
            if kept is not None:
                if status:
                    self._lost.append((pid, status, kept))
                else:
                    self._say(f"{pid} 0".encode())

    def _end_orphans(self) -> None:
        """Kill what lost supervisors left; once nothing is left, say that they were lost."""
        if any(pid not in self._supervisors for pid in children_of(os.getpid())):
            signal_tree(os.getpid(), signal.SIGKILL, spare=self._supervisors)
            return
        for pid, status, kept in self._lost:
            if kept.path:
                with suppress(OSError):
                    os.unlink(kept.path)
            self._say(f"{pid} {status}".encode())
        self._lost.clear()

    def _say(self, message: bytes) -> None:
        try:
            self._requests.send(message)
        except OSError:
            return  # the owner is gone, which is noticed where its requests are read


def limit_descriptors(count: int) -> None:
    """Set the soft limit of this process and of those that it starts, as far as its hard one allows."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft = count if hard == resource.RLIM_INFINITY else min(count, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _print_failure() -> None:
    """A supervisor's own fault: say it where the owner's log goes."""
    import traceback

    traceback.print_exc()


def main(requests: int, owner: int, *, has_terminal: bool, max_descriptors: int) -> None:
    """Run in a process of its own; never raises for what its owner or a supervisor does.

    `max_descriptors`: the soft limit that programs get; 0: the one that this process was started with.
    """
    if max_descriptors:
        limit_descriptors(max_descriptors)
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
