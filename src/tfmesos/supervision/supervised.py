"""One program under its supervisor, as its owner sees it."""

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress

from tfmesos.supervision._channel import Channel
from tfmesos.supervision._frames import Kind, decode_ended
from tfmesos.supervision._freezer import thaw
from tfmesos.supervision._place import connect
from tfmesos.supervision.console import ConsoleStream
from tfmesos.supervision.errors import LetGo, SupervisionError
from tfmesos.supervision.spec import Termination
from tfmesos.supervision.statistics import TreeStatistics, tree_statistics

_PATIENCE_S = 2.0
"""With a supervisor, after the grace."""
_INSIST_AGAIN_S = 1.0


class Supervised:
    """One program and its supervisor; made by `Supervisors` only."""

    def __init__(
        self,
        channel: Channel,
        on_ended: Callable[["Supervised"], None],
        *,
        record_dir: str | None,
        console_socket: str | None,
        grace_s: float,
        is_detached: bool,
        is_released: bool = False,
    ) -> None:
        """The supervisor at the end of `channel`, which waits at its gate unless released; `on_ended`: called once."""
        assert channel.pid is not None
        self.record_dir = record_dir
        self._console_socket = console_socket
        self.grace_s = grace_s
        self.is_detached = is_detached
        self.is_released = is_released
        """Whether the gate was opened."""
        self.pid = channel.pid
        """Of the supervisor."""
        self.start_time = channel.start_time
        """Of the supervisor, as `process_start_time` tells it; 0 if it was lost already."""
        self.channel = channel
        """For `Supervisors`."""
        self._on_ended = on_ended
        self._is_kill_asked = False
        self._insisting: asyncio.TimerHandle | None = None
        self._task_pid: int | None = None
        self._started = asyncio.Event()
        self._ended = asyncio.Event()
        self._termination: Termination | None = None

    @property
    def task_pid(self) -> int | None:
        """Of the program's main process; None until `release` returned, and if it could not be started."""
        return self._task_pid

    @property
    def termination(self) -> Termination | None:
        """What `wait` answers; None before."""
        return self._termination

    async def release(self) -> None:
        """Open the gate: the program starts. Returns when it was executed, or could not be (then `wait` tells why).

        To be called once, after `pid` and `start_time` were noted; a supervisor whose gate is lost ends by itself.
        Nothing to do for an adopted one.
        """
        if not self.is_released:
            self.is_released = True
            self._send(Kind.RELEASE)
        await self._started.wait()

    def kill(self, grace_s: float) -> None:
        """SIGTERM to the whole tree, SIGKILL to what is left after `grace_s`; again: can only shorten the time left.

        Before `release`: the program never starts. After the end: nothing. Stopped processes are continued to die.
        What outlives the main process has the rest of the grace, too. A supervisor that the program has stopped, or
        that was frozen with it, keeps nothing alive.
        """
        self._is_kill_asked = True
        self._send(Kind.KILL, repr(float(grace_s)).encode())
        self._insist_in(grace_s + _PATIENCE_S)

    def signal(self, number: int) -> None:
        """To the main process alone; nothing before `release` and after its end.

        Raises SupervisionError if there is no such signal.
        """
        if number not in signal.valid_signals():
            raise SupervisionError(f"{number} is no number of a signal")
        self._send(Kind.SIGNAL, str(int(number)).encode())

    async def console(self, *, output: bool = True, input: bool = False) -> ConsoleStream:
        """Attach; also before `release`, so that no output is missed. Only for a ProcessSpec with a console.

        Any number may attach for output; raises ConsoleBusy for the second one who wants to write to stdin or to
        resize, SupervisionError when the program has ended.
        """
        if self.record_dir is None or self._console_socket is None:
            raise SupervisionError("the program has no console")
        try:
            connection = connect(self.record_dir, self._console_socket)
        except FileNotFoundError as error:
            raise SupervisionError("the program has ended") from error
        except OSError as error:
            raise SupervisionError(f"cannot reach the console of supervisor {self.pid}: {error.strerror}") from error
        return await ConsoleStream.attach(connection, output=output, input=input)

    def statistics(self) -> TreeStatistics:
        """What its processes have used by now; zeros when it has ended."""
        if self._termination is None and self.channel.is_alive:
            return tree_statistics(self.pid)
        return TreeStatistics(processes=0, threads=0, user_s=0.0, system_s=0.0, rss_bytes=0)

    async def wait(self) -> Termination:
        """How it ended, when nothing of the tree is left. May be awaited any number of times, by several at once.

        Raises LetGo if the program is detached and its Supervisors were closed.
        """
        await self._ended.wait()
        if self._termination is None:
            raise LetGo(f"the program of supervisor {self.pid} goes on by itself")
        return self._termination

    def on_frame(self, kind: Kind, body: bytes) -> None:
        """The supervisor said something. For `Channel`."""
        match kind:
            case Kind.STARTED:
                self._task_pid = int(body)
                self._started.set()
            case Kind.NOT_STARTED:
                self._started.set()
            case Kind.ENDED:
                wait_status, killed, message = decode_ended(body)
                self.end(Termination(wait_status=wait_status, killed=killed, message=message))
            case _:
                raise ValueError(f"a supervisor said {kind!r}")

    def on_supervisor_lost(self) -> None:
        """Nothing more will be said; what is left of the tree is being ended. For `Supervisors`."""
        self._started.set()

    def end_unreported(self, message: str) -> None:
        """The supervisor is gone and nothing of the tree is left, unless that was reported. For `Supervisors`."""
        self.end(Termination(wait_status=None, killed=self._is_kill_asked, message=message))

    def let_go(self) -> None:
        """It goes on without this owner. For `Supervisors`."""
        self._insist_no_more()
        self.channel.give_to(None)
        self._started.set()
        self._ended.set()

    def _insist_in(self, delay_s: float) -> None:
        loop = asyncio.get_running_loop()
        if self._termination is not None or (self._insisting and self._insisting.when() <= loop.time() + delay_s):
            return
        self._insist_no_more()
        self._insisting = loop.call_later(delay_s, self._insist)

    def _insist(self) -> None:
        """One that has not started its program may be frozen in the cgroup of that: its fork server ends the rest."""
        self._insisting = None
        if self.channel.is_alive:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, signal.SIGCONT if self._started.is_set() else signal.SIGKILL)
            thaw([self.pid])
            self._insist_in(_INSIST_AGAIN_S)

    def _insist_no_more(self) -> None:
        if self._insisting is not None:
            self._insisting.cancel()
            self._insisting = None

    def _send(self, kind: Kind, body: bytes = b"") -> None:
        """To the supervisor, until it has told the end."""
        if self._termination is None:
            self.channel.send(kind, body)

    def end(self, termination: Termination) -> None:
        """Nothing of it is left. For `Supervisors`."""
        if self._termination is None:
            self._termination = termination
            self._insist_no_more()
            self.channel.give_to(None)
            self._started.set()
            self._ended.set()
            self._on_ended(self)
