"""One connection to a program's console, as the supervisor sees it."""

from collections.abc import Callable
from contextlib import suppress
from time import monotonic

from tfmesos.supervision._frames import Kind, encode_frame
from tfmesos.supervision._reception import Visitor
from tfmesos.supervision._waking import Waiter

MAX_WAITING = 256 << 10
"""Bytes for someone who does not take them."""
STALL_S = 30.0
"""Who takes nothing for so long is gone."""
_READ_SIZE = 64 << 10


class Attachment:
    """Sends output, hears what is meant for the program."""

    def __init__(
        self,
        visitor: Visitor,
        waiter: Waiter,
        on_said: Callable[["Attachment", Kind, bytes], None],
        on_changed: Callable[[], None],
    ) -> None:
        """`on_changed` is called when it may not be full any more, or has closed."""
        self.has_output = False
        self.has_input = False
        self.is_open = True
        self.deadline: float | None = None
        """When it has to have taken something; None: nothing waits for it."""
        self._connection = visitor.connection
        self._descriptor = visitor.connection.fileno()
        self._frames = visitor.frames
        self._waiter = waiter
        self._on_said = on_said
        self._on_changed = on_changed
        self._waiting = bytearray()
        self._is_finishing = False

    @property
    def is_full(self) -> bool:
        """Whether it is to take something before there is more."""
        return len(self._waiting) >= MAX_WAITING

    def refuse(self, reason: bytes) -> None:
        """It is over before it began."""
        with suppress(OSError):
            self._connection.send(encode_frame(Kind.REFUSED, reason))
        self._connection.close()
        self.is_open = False

    def accept(self, wishes: bytes, said: list[tuple[Kind, bytes]]) -> None:
        """It has what it wished for from now on; `said`: what came right after its wishes."""
        self.has_output = b"o" in wishes
        self.has_input = b"i" in wishes
        self._send(Kind.ATTACHED, b"")
        self.listen(True)
        self._hear(said)

    def listen(self, is_wanted: bool) -> None:
        """Whether to hear what it has for the program."""
        if is_wanted and self.is_open:
            self._waiter.add(self._descriptor, self._on_readable)
        else:
            self._waiter.remove(self._descriptor)

    def show(self, kind: Kind, data: bytes) -> None:
        """Output of the program."""
        if self.has_output:
            self._send(kind, data)

    def finish(self) -> None:
        """Close once it has taken everything."""
        self._is_finishing = True
        if not self._waiting:
            self.close()

    def close(self) -> None:
        """Idempotent."""
        if not self.is_open:
            return
        self.is_open = False
        self._waiting.clear()
        self.deadline = None
        self._waiter.remove(self._descriptor)
        self._waiter.remove_writer(self._descriptor)
        self._connection.close()
        self._on_changed()

    def _send(self, kind: Kind, body: bytes) -> None:
        if not self._waiting:
            self.deadline = monotonic() + STALL_S
            self._waiter.add_writer(self._descriptor, self._on_writable)
        self._waiting += encode_frame(kind, body)
        if self.is_full:
            self._on_changed()

    def _on_writable(self) -> None:
        was_full = self.is_full
        try:
            del self._waiting[: self._connection.send(self._waiting)]
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.close()
            return
        if self._waiting:
            self.deadline = monotonic() + STALL_S
        else:
            self.deadline = None
            self._waiter.remove_writer(self._descriptor)
            if self._is_finishing:
                self.close()
        if was_full and not self.is_full:
            self._on_changed()

    def _on_readable(self) -> None:
        try:
            data = self._connection.recv(_READ_SIZE)
            said = self._frames.feed(data)
        except (BlockingIOError, InterruptedError):
            return
        except (OSError, ValueError):
            data, said = b"", []
        self._hear(said)
        if not data:
            self.close()

    def _hear(self, said: list[tuple[Kind, bytes]]) -> None:
        """Who speaks nonsense is shown out."""
        try:
            for kind, body in said:
                self._on_said(self, kind, body)
        except ValueError:
            self.close()
