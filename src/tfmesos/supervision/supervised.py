"""One program under its supervisor, as its owner sees it."""

import asyncio
import socket
from collections.abc import Callable

from tfmesos.supervision._frames import FrameReader, Kind, decode_ended, encode_frame
from tfmesos.supervision.errors import SupervisionError, SupervisorLost
from tfmesos.supervision.processes import process_start_time
from tfmesos.supervision.spec import ProcessSpec, Termination

_READ_SIZE = 64 << 10


class Supervised:
    """One program and its supervisor; made by `Supervisors.launch` only."""

    def __init__(self, spec: ProcessSpec, control: socket.socket, on_closed: Callable[["Supervised"], None]) -> None:
        """`control` leads to the supervisor; `on_closed` is called once, when nothing more can come from there."""
        self.spec = spec
        self._control = control
        self._on_closed = on_closed
        self._loop = asyncio.get_running_loop()
        self._frames = FrameReader()
        self._is_open = True
        self._is_kill_asked = False
        self._pid: int | None = None
        self._start_time = 0
        self._task_pid: int | None = None
        self._refusal: str | None = None
        self._greeted = asyncio.Event()
        self._started = asyncio.Event()
        self._ended = asyncio.Event()
        self._termination: Termination | None = None
        self._loop.add_reader(control, self._on_readable)

    @property
    def pid(self) -> int:
        """Of the supervisor."""
        assert self._pid is not None
        return self._pid

    @property
    def start_time(self) -> int:
        """Of the supervisor, as `process_start_time` tells it; 0 if it was lost already."""
        return self._start_time

    @property
    def task_pid(self) -> int | None:
        """Of the program's main process; None until `release` returned, and if it could not be started."""
        return self._task_pid

    @property
    def has_ended(self) -> bool:
        """Whether `wait` would answer at once."""
        return self._termination is not None

    @property
    def is_gated(self) -> bool:
        """Whether its supervisor has been heard. For `Supervisors`, as what follows up to `is_supervised_by`."""
        return self._pid is not None

    @property
    def is_open(self) -> bool:
        """Whether its supervisor can still be heard."""
        return self._is_open

    def is_supervised_by(self, pid: int) -> bool:
        """Whether this is its supervisor; none is known yet before it waits at its gate."""
        return self._pid == pid

    async def release(self) -> None:
        """Open the gate: the program starts. Returns when it was executed, or could not be (then `wait` tells why).

        To be called once, after `pid` and `start_time` were noted; a supervisor whose gate is lost ends by itself.
        """
        self._send(Kind.RELEASE)
        await self._started.wait()

    def kill(self, grace_s: float) -> None:
        """SIGTERM to the whole tree, SIGKILL to what is left after `grace_s`; again: can only shorten the time left.

        Before `release`: the program never starts. After the end: nothing. Stopped processes are continued to die.
        What outlives the main process has the rest of the grace, too.
        """
        self._is_kill_asked = True
        self._send(Kind.KILL, repr(float(grace_s)).encode())

    async def wait(self) -> Termination:
        """How it ended, when nothing of the tree is left. May be awaited any number of times, by several at once."""
        await self._ended.wait()
        assert self._termination is not None
        return self._termination

    async def wait_gated(self) -> None:
        """Until the supervisor waits at its gate; raises SupervisionError if it was refused, SupervisorLost if lost."""
        await self._greeted.wait()
        if self._refusal is not None:
            raise SupervisionError(self._refusal)
        if self._pid is None:
            raise SupervisorLost(f"the supervisor of {self.spec.id!r} was lost before it started")

    def abandon(self) -> None:
        """Close the channel, so that the supervisor ends what it has by itself."""
        if self._is_open:
            self._is_open = False
            self._loop.remove_reader(self._control)
            self._control.close()
            self._greeted.set()
            self._started.set()
            self._on_closed(self)

    def end_unreported(self, message: str) -> None:
        """The supervisor is gone and nothing of its tree is left, unless it reported that itself."""
        while self._is_open:
            self._on_readable()
        self._end(Termination(wait_status=None, killed=self._is_kill_asked, message=message))

    def _send(self, kind: Kind, body: bytes = b"") -> None:
        """Never waits: these frames are tiny and the supervisor reads at once."""
        if not self._is_open:
            return
        try:
            self._control.send(encode_frame(kind, body))
        except OSError:
            return  # it is gone, which is noticed where it is read

    def _on_readable(self) -> None:
        try:
            data = self._control.recv(_READ_SIZE)
        except (BlockingIOError, InterruptedError):
            return
        except ConnectionError:
            data = b""
        for kind, body in self._frames.feed(data):
            self._on_frame(kind, body)
        if not data:
            self.abandon()

    def _on_frame(self, kind: Kind, body: bytes) -> None:
        match kind:
            case Kind.HELLO:
                self._pid = int(body)
                self._start_time = process_start_time(self._pid) or 0
                self._greeted.set()
            case Kind.STARTED:
                self._task_pid = int(body)
                self._started.set()
            case Kind.NOT_STARTED:
                self._started.set()
            case Kind.ENDED:
                wait_status, killed, message = decode_ended(body)
                self._end(Termination(wait_status=wait_status, killed=killed, message=message))
            case Kind.REFUSED:
                self._refusal = body.decode()
            case _:
                raise ValueError(f"a supervisor said {kind!r}")

    def _end(self, termination: Termination) -> None:
        if self._termination is None:
            self._termination = termination
            self._ended.set()
            self.abandon()
