"""Between a program and those who see its output: the log files, and whoever is attached to its console.

    stdin  <── bytes that wait ────────────── one attachment
    stdout ──┬─> log file
    stderr ──┴─> bytes that wait ───────────> any number of attachments

Bounded: while too much waits for one attachment the program's output is not read; who takes nothing of it for a while
is detached. While too much waits for the program, its writer is not read.
"""

import os
import termios
from fcntl import ioctl
from functools import partial
from struct import pack
from time import monotonic

from tfmesos.supervision._attachment import MAX_WAITING, Attachment
from tfmesos.supervision._frames import Kind, Program
from tfmesos.supervision._log import LogFile
from tfmesos.supervision._program import StartError, Streams, as_user, open_file
from tfmesos.supervision._reception import Visitor
from tfmesos.supervision._terminal_socket import TerminalSocket
from tfmesos.supervision._waking import Waiter

_READ_SIZE = 64 << 10
_MAX_WINDOW = 0xFFFF
_CTRL_D = b"\x04"
LINGER_S = 3.0
"""After the end, for those who are attached to take the rest."""


class Switchboard(Streams):
    """Of one program; lives in its supervisor."""

    def __init__(self, program: Program, waiter: Waiter) -> None:
        self._program = program
        self._waiter = waiter
        is_terminal, *size = program.console or (0, 0, 0)
        self._window = (size[0], size[1]) if is_terminal else None
        self._ends: list[int] = []
        self._stdin: int | None = None
        self._unread = bytearray()
        self._is_stdin_over = False
        self._sources: dict[int, tuple[Kind, LogFile]] = {}
        self._terminals: TerminalSocket | None = None
        self._log: LogFile | None = None
        """Of a terminal that is expected."""
        self._attachments: list[Attachment] = []
        self._ended_at: float | None = None

    def expect_terminal(self, path: bytes) -> None:
        """Whoever makes the program makes its terminal, too, and hands it over at this socket. Raises StartError."""
        self._terminals = TerminalSocket(path, self._waiter, self._on_terminal)

    def open(self) -> list[int]:
        """As Streams."""
        program = self._program
        paths = [os.path.join(program.directory, path) for path in (program.stdout, program.stderr)]
        logs = {path: LogFile(path, program.log_limit, lambda: as_user(program)) for path in paths}
        if self._window and self._terminals is not None:
            self._log = logs[paths[0]]
            self._ends = [open_file(b"/dev/null", os.O_RDWR)] * 3
        elif self._window:
            self._open_terminal(logs[paths[0]])
        else:
            self._open_pipes([logs[path] for path in paths])
        return self._ends

    def close_ends(self) -> None:
        """As Streams."""
        for descriptor in {*self._ends}:
            os.close(descriptor)
        self._ends = []
        self._read_outputs()

    def attach(self, visitor: Visitor, said: list[tuple[Kind, bytes]]) -> None:
        """Let it have what it said that it wants, if that is to be had."""
        wishes = said[0][1]
        attachment = Attachment(visitor, self._waiter, self._on_said, self._on_changed)
        if self._program.console is None:
            attachment.refuse(b"the program has no console")
        elif b"i" in wishes and any(other.has_input for other in self._attachments):
            attachment.refuse(b"another one has the console's input")
        else:
            self._attachments.append(attachment)
            attachment.accept(wishes, said[1:])

    @property
    def deadline(self) -> float | None:
        """When `tick` wants to be called."""
        deadlines = [attachment.deadline for attachment in self._attachments if attachment.deadline is not None]
        if self._ended_at is not None:
            deadlines.append(self._ended_at + LINGER_S)
        return min(deadlines, default=None)

    @property
    def is_idle(self) -> bool:
        """Whether everyone has everything."""
        return not self._attachments

    def tick(self, now: float) -> None:
        """Time passed."""
        is_over = self._ended_at is not None and now >= self._ended_at + LINGER_S
        for attachment in list(self._attachments):
            if is_over or (attachment.deadline is not None and now >= attachment.deadline):
                attachment.close()

    def end(self) -> None:
        """Nothing of the program is left: what it wrote last is taken, and everyone told when that was all."""
        if self._terminals is not None:
            self._terminals.close()
        for descriptor in list(self._sources):
            while descriptor in self._sources and self._on_output(descriptor):
                pass
            self._forget_source(descriptor)
        self._is_stdin_over = True
        self._close_stdin()
        self._ended_at = monotonic()
        for attachment in list(self._attachments):
            attachment.finish()

    def _open_terminal(self, log: LogFile) -> None:
        try:
            master, slave = os.openpty()
        except OSError as error:
            raise StartError.of("open", b"/dev/ptmx", error.strerror) from error
        self._ends = [slave, slave, slave]
        self.terminal = os.fsencode(os.ttyname(slave))
        self._use_terminal(master, log)

    def _use_terminal(self, master: int, log: LogFile) -> None:
        self._stdin = master
        self._sources[master] = (Kind.STDOUT, log)
        if self._window:
            self._resize(*self._window)

    def _on_terminal(self, master: int) -> None:
        assert self._log is not None
        self._terminals = None
        self._use_terminal(master, self._log)
        self._read_outputs()

    def _open_pipes(self, logs: list[LogFile]) -> None:
        for kind, log in zip((Kind.STDOUT, Kind.STDERR), logs, strict=True):
            reader, writer = os.pipe()
            self._ends.append(writer)
            self._sources[reader] = (kind, log)
        if self._program.console is None:
            self._ends.insert(0, open_file(b"/dev/null", os.O_RDONLY))
        else:
            reader, self._stdin = os.pipe()
            self._ends.insert(0, reader)

    def _read_outputs(self) -> None:
        """From now on, unless someone is to catch up first; what waits for stdin goes there."""
        for descriptor in (*self._sources, *([] if self._stdin is None else [self._stdin])):
            os.set_blocking(descriptor, False)
        self._on_changed()
        self._write_stdin()

    def _on_changed(self) -> None:
        """Someone took something, or went."""
        self._attachments = [attachment for attachment in self._attachments if attachment.is_open]
        is_held = any(attachment.is_full for attachment in self._attachments)
        for descriptor in () if self._ends else self._sources:
            if is_held:
                self._waiter.remove(descriptor)
            else:
                self._waiter.add(descriptor, partial(self._on_output, descriptor))

    def _on_output(self, descriptor: int) -> bool:
        """Read once; whether there was something."""
        try:
            data = os.read(descriptor, _READ_SIZE)
        except BlockingIOError:
            return False
        except OSError:  # EIO: nobody has the terminal any more
            data = b""
        if not data:
            self._forget_source(descriptor)
            return False
        kind, log = self._sources[descriptor]
        log.write(data)
        for attachment in list(self._attachments):
            attachment.show(kind, data)
        return True

    def _forget_source(self, descriptor: int) -> None:
        source = self._sources.pop(descriptor, None)
        if source is None:
            return
        self._waiter.remove(descriptor)
        if descriptor != self._stdin:
            os.close(descriptor)
        _, log = source
        if all(other is not log for _, other in self._sources.values()):
            log.close()

    def _on_said(self, attachment: Attachment, kind: Kind, body: bytes) -> None:
        if not attachment.has_input:
            return
        if kind is Kind.RESIZE:
            rows, columns = map(int, body.split())
            self._resize(rows, columns)
        elif kind is Kind.STDIN and not self._is_stdin_over:
            if body:
                self._unread += body
            elif self._window:
                self._unread += self._end_of_file_character()
            else:
                self._is_stdin_over = True
            self._write_stdin()

    def _write_stdin(self) -> None:
        while self._stdin is not None and self._unread and not self._ends:
            try:
                del self._unread[: os.write(self._stdin, self._unread)]
            except BlockingIOError:
                self._waiter.add_writer(self._stdin, self._write_stdin)
                break
            except OSError:  # the program reads no more
                self._close_stdin()
        if self._stdin is not None and not self._unread and not self._ends:
            self._waiter.remove_writer(self._stdin)
            if self._is_stdin_over:
                self._close_stdin()
        for attachment in self._attachments:
            attachment.listen(len(self._unread) < MAX_WAITING)

    def _close_stdin(self) -> None:
        """What comes for it from now on is dropped."""
        self._unread.clear()
        if self._stdin is None:
            return
        self._waiter.remove_writer(self._stdin)
        if self._stdin not in self._sources:
            os.close(self._stdin)
            self._stdin = None

    def _end_of_file_character(self) -> bytes:
        if self._stdin is None:
            return _CTRL_D
        character: bytes = termios.tcgetattr(self._stdin)[6][termios.VEOF]
        return character

    def _resize(self, rows: int, columns: int) -> None:
        """Of the terminal; the kernel sends SIGWINCH (kernel: tty_ioctl(4))."""
        if self._window is None:
            return
        self._window = min(max(rows, 0), _MAX_WINDOW), min(max(columns, 0), _MAX_WINDOW)
        if self._stdin is not None:
            ioctl(self._stdin, termios.TIOCSWINSZ, pack("HHHH", *self._window, 0, 0))
