"""The owner's end of the way to one supervisor."""

import asyncio
import socket
from collections.abc import Callable
from typing import Protocol

from tfmesos.supervision._frames import FrameReader, Kind, encode_frame
from tfmesos.supervision._server_handle import ServerHandle
from tfmesos.supervision.errors import SupervisionError, SupervisorLost
from tfmesos.supervision.processes import is_running, process_start_time

_READ_SIZE = 64 << 10


class Receiver(Protocol):
    """Who is told what the supervisor says of its program."""

    def on_frame(self, kind: Kind, body: bytes) -> None:
        """A frame came; not called for what concerns the supervisor itself."""


class Channel:
    """Leads to a supervisor; its `pid` is known when it was greeted."""

    def __init__(
        self, control: socket.socket, server: ServerHandle | None, on_closed: Callable[["Channel"], None]
    ) -> None:
        """`on_closed` is called once, when nothing more can come from there; `server` is the supervisor's parent."""
        self.server = server
        """None: it was an earlier owner's."""
        self.pid: int | None = None
        self.start_time = 0
        self._receiver: Receiver | None = None
        self._early: list[tuple[Kind, bytes]] | None = []
        self._control = control
        self._descriptor = control.fileno()  # asyncio describes a socket in words each time that it looks it up
        self._on_closed = on_closed
        self._loop = asyncio.get_running_loop()
        self._frames = FrameReader()
        self._refusal: str | None = None
        self._greeted = asyncio.Event()
        self._is_open = True
        self._is_sending = False
        self._unsent = bytearray()
        self._is_blocked = False
        self._loop.add_reader(self._descriptor, self._on_readable)

    @property
    def is_open(self) -> bool:
        """Whether the supervisor can still be heard."""
        return self._is_open

    @property
    def is_alive(self) -> bool:
        """Whether the supervisor's process is there."""
        return self.pid is not None and is_running(self.pid, self.start_time)

    def give_to(self, receiver: Receiver | None) -> None:
        """What was said before comes first; None: nobody wants to hear more."""
        early, self._early = self._early or [], None
        self._receiver = receiver
        for kind, body in early:
            self._on_frame(kind, body)

    async def send_program(self, frame: bytes) -> None:
        """Tell the supervisor its program; raises SupervisorLost."""
        self._is_sending = True
        try:
            await self._loop.sock_sendall(self._control, frame)
        except ConnectionError as error:
            raise SupervisorLost("a supervisor was lost before it knew its program") from error
        finally:
            self._is_sending = False
            if not self._is_open:
                self._control.close()

    async def wait_greeted(self) -> None:
        """Until the supervisor is there; raises SupervisionError if it was refused, SupervisorLost if lost."""
        await self._greeted.wait()
        if self._refusal is not None:
            raise SupervisionError(self._refusal)
        if not self._is_open:
            raise SupervisorLost("a supervisor was lost before it started its program")

    def send(self, kind: Kind, body: bytes = b"") -> None:
        """Never waits: what has no room behind a large program that is still to be read follows as soon as it has."""
        if self._is_open:
            self._unsent += encode_frame(kind, body)
            self._send_unsent()

    def drain(self) -> None:
        """Take what the supervisor still said; it must not be alive."""
        while self._is_open:
            self._on_readable()

    def close(self) -> None:
        """The supervisor ends what it has, and itself. Idempotent."""
        if not self._is_open:
            return
        self._is_open = False
        self._loop.remove_reader(self._descriptor)
        if not self._is_sending:
            self._wait_writable(False)
            self._control.close()
        self._greeted.set()
        self._on_closed(self)

    def _send_unsent(self) -> None:
        try:
            del self._unsent[: self._control.send(self._unsent)]
        except (BlockingIOError, InterruptedError):
            self._wait_writable(True)
            return
        except OSError:
            self._unsent.clear()  # it is gone, which is noticed where it is read
        self._wait_writable(bool(self._unsent))

    def _wait_writable(self, wanted: bool) -> None:
        if wanted and not self._is_blocked:
            self._loop.add_writer(self._descriptor, self._send_unsent)
        elif self._is_blocked and not wanted:
            self._loop.remove_writer(self._descriptor)
        self._is_blocked = wanted

    def _on_readable(self) -> None:
        try:
            data = self._control.recv(_READ_SIZE)
        except (BlockingIOError, InterruptedError):
            return
        except ConnectionError:
            data = b""
        try:
            for kind, body in self._frames.feed(data):
                self._on_frame(kind, body)
        except ValueError:  # whatever speaks there, it is no supervisor
            data = b""
        if not data:
            self.close()

    def _on_frame(self, kind: Kind, body: bytes) -> None:
        if kind is Kind.HELLO:
            self.pid = int(body)
            self.start_time = process_start_time(self.pid) or 0
            self._greeted.set()
        elif kind is Kind.REFUSED:
            self._refusal = body.decode("utf-8", "surrogateescape")
            self._greeted.set()
        elif self._receiver is not None:
            self._receiver.on_frame(kind, body)
        elif self._early is not None:
            self._early.append((kind, body))
