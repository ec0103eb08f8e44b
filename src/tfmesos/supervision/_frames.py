"""What goes over the channel between a program's owner and its supervisor: frames, and the program itself.

A frame: 4 bytes length of the body, 1 byte kind, body. Nothing here may import more than a supervisor can afford.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from struct import Struct

_HEADER = Struct("!IB")
MAX_BODY = 16 << 20
"""Linux takes at most 6 MiB of arguments and environment (kernel: fs/exec.c, three quarters of an 8 MiB stack)."""


class Kind(IntEnum):
    """Kinds of frames; the body in brackets."""

    PROGRAM = 1
    """to the supervisor [Program.encode]"""
    RELEASE = 2
    """to it: open the gate []"""
    KILL = 3
    """to it [grace in seconds, decimal]"""
    HELLO = 4
    """from it, at once [its pid]"""
    STARTED = 5
    """from it [pid of the main process]"""
    NOT_STARTED = 6
    """from it []; the reason follows in ENDED"""
    ENDED = 7
    """from it, the last one [wait status or -, blank, killed 0 or 1, blank, message]"""
    REFUSED = 8
    """from the fork server in a supervisor's place; from a supervisor that will not do what was asked [message]"""
    SIGNAL = 9
    """to it: for the main process [number]"""
    ADOPT = 10
    """to it, by a new owner []; the answer is HELLO, then STARTED; or REFUSED"""
    ATTACH = 11
    """to it, by whoever wants to use the console [o for output, i for input]; the answer is ATTACHED or REFUSED"""
    ATTACHED = 12
    """from it []"""
    STDIN = 13
    """to it [bytes; none: the end]"""
    RESIZE = 14
    """to it [rows, blank, columns]"""
    STDOUT = 15
    """from it [bytes]"""
    STDERR = 16
    """from it [bytes]"""


def encode_frame(kind: Kind, body: bytes = b"") -> bytes:
    """One frame."""
    return _HEADER.pack(len(body), kind) + body


class FrameReader:
    """Cuts a stream of bytes into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[tuple[Kind, bytes]]:
        """The frames that are complete now; ValueError for what is no frame."""
        self._buffer += data
        frames = []
        offset = 0
        while len(self._buffer) - offset >= _HEADER.size:
            length, kind = _HEADER.unpack_from(self._buffer, offset)
            if length > MAX_BODY:
                raise ValueError(f"a frame of {length} bytes; at most {MAX_BODY} are allowed")
            end = offset + _HEADER.size + length
            if len(self._buffer) < end:
                break
            frames.append((Kind(kind), bytes(self._buffer[offset + _HEADER.size : end])))
            offset = end
        del self._buffer[:offset]
        return frames


class Program:
    """What a supervisor runs, in bytes and numbers; an empty `stdout` means: keep the terminal of the fork server."""

    executable: bytes
    argv: list[bytes]
    environment: list[bytes]
    directory: bytes
    stdout: bytes
    stderr: bytes
    uid: int | None
    gid: int | None
    groups: list[int]
    grace_s: float = 0.0
    recovery_timeout_s: float | None = None
    """None: not detached."""
    console: tuple[int, int, int] | None = None
    """Whether it is a terminal, its rows and columns; None: no console."""
    log_limit: tuple[int, int] | None = None
    """Bytes of a log file, and how many old ones are kept."""
    cgroups: list[bytes]
    """Files by which it is put into its cgroups."""
    cgroup_directories: Sequence[bytes] = ()
    """They go with it if it ends without an owner."""
    starter: Sequence[bytes] = ()
    """Its pid file, log file, console socket (or nothing), and its argv; empty: the supervisor starts the program."""
    epilogue: Sequence[bytes] = ()
    """A command that is run if it ends without an owner."""

    @property
    def has_terminal(self) -> bool:
        """It keeps the terminal of the fork server, and stays in its process group."""
        return not self.stdout

    def encode(self) -> bytes:
        """Fields separated by NUL, which none can hold (as execve takes them)."""
        numbers = (self.uid, self.gid, self.grace_s, len(self.argv), *self.groups)
        options = (self.recovery_timeout_s, *(self.console or (None, None, None)), *(self.log_limit or (None, None)))
        fixed = (self.executable, self.directory, self.stdout, self.stderr)
        lists = (self.cgroups, self.cgroup_directories, self.starter, self.epilogue)
        texts = (_to_texts(numbers), _to_texts((*options, *map(len, lists))))
        return b"\0".join((*fixed, *texts, *(one for each in lists for one in each), *self.argv, *self.environment))

    @classmethod
    def decode(cls, body: bytes) -> "Program":
        """What encode made."""
        self = cls()
        fields = body.split(b"\0")
        self.executable, self.directory, self.stdout, self.stderr, numbers, options = fields[:6]
        uid, gid, grace_s, argc, *groups = numbers.decode().split(" ")
        self.uid, self.gid, self.grace_s = _from_text(uid), _from_text(gid), float(grace_s)
        self.groups = [int(group) for group in groups]
        timeout_s, *pairs = options.decode().split(" ")
        if timeout_s != "-":
            self.recovery_timeout_s = float(timeout_s)
        if pairs[0] != "-":
            self.console = int(pairs[0]), int(pairs[1]), int(pairs[2])
        if pairs[3] != "-":
            self.log_limit = int(pairs[3]), int(pairs[4])
        rest = iter(fields[6:])
        self.cgroups, self.cgroup_directories, self.starter, self.epilogue, self.argv = (
            [next(rest) for _ in range(int(count))] for count in (*pairs[5:], argc)
        )
        self.environment = list(rest)
        return self


def _to_texts(numbers: Iterable[float | None]) -> bytes:
    return " ".join(map(_to_text, numbers)).encode()


def _to_text(number: float | None) -> str:
    return "-" if number is None else repr(number)


def _from_text(text: str) -> int | None:
    return None if text == "-" else int(text)


def encode_ended(wait_status: int | None, killed: bool, message: str | None) -> bytes:
    """Body of ENDED."""
    return f"{_to_text(wait_status)} {int(killed)} {message or ''}".encode("utf-8", "surrogateescape")


def decode_ended(body: bytes) -> tuple[int | None, bool, str | None]:
    """Wait status, killed, message."""
    status, killed, message = body.decode("utf-8", "surrogateescape").split(" ", 2)
    return _from_text(status), killed == "1", message or None
