"""Output of many tasks on one terminal: whole lines with a prefix, never mixed, no byte lost. Pure."""

import re
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

from tfmesos.launcher.sinks import Stream

PARTIAL_AFTER_S = 1.0
"""How long a line may wait for its end before what is there of it is shown."""

PENDING_LIMIT = 1 << 20
"""Bytes of an unfinished line that are kept; a longer one is shown in parts."""

BREAK = re.compile(rb"(\n|\r(?!\n))(?=.)", re.DOTALL)
TAIL_LINES = 20
TAIL_LINE_LIMIT = 4096


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes to write."""

    stream: Stream
    data: bytes


@dataclass(slots=True)
class _Source:
    prefix: bytes
    stream: Stream
    pending: bytearray = field(default_factory=bytearray)
    since: float = 0.0


class LineMixer:
    """Takes output as it comes and gives it back in whole lines.

    Unfinished lines are shown after a second and then continued in place; if another task wants to write meanwhile,
    the line is broken with a newline and its rest gets the prefix again. A carriage return starts the line anew.
    """

    def __init__(self) -> None:
        self._sources: dict[Hashable, _Source] = {}
        self._open: _Source | None = None

    def add(self, key: Hashable, prefix: bytes, stream: Stream) -> None:
        """A new source of output."""
        self._sources[key] = _Source(prefix, stream)

    @property
    def wakes_at(self) -> float | None:
        """When `flush` has something to show."""
        return min((one.since + PARTIAL_AFTER_S for one in self._sources.values() if one.pending), default=None)

    def feed(self, key: Hashable, data: bytes, now: float) -> list[Piece]:
        """Output of a source; returns what is to be written now."""
        source = self._sources[key]
        if not source.pending:
            source.since = now
        source.pending += data
        end = source.pending.rfind(b"\n") + 1
        if len(source.pending) - end > PENDING_LIMIT:
            end = len(source.pending)
        if not end:
            return []
        source.since = now
        return self._write(source, end)

    def flush(self, now: float) -> list[Piece]:
        """Show the unfinished lines that have waited long enough."""
        pieces: list[Piece] = []
        for source in self._sources.values():
            if source.pending and source.since + PARTIAL_AFTER_S <= now:
                source.since = now
                end = _whole_characters(source.pending)
                pieces += self._write(source, end) if end else []
        return pieces

    def finish(self, key: Hashable) -> list[Piece]:
        """A source has ended: its last line is ended too."""
        source = self._sources.pop(key)
        pieces = self._write(source, len(source.pending)) if source.pending else []
        if self._open is source:
            pieces += self._close_open()
        return pieces

    def _write(self, source: _Source, end: int) -> list[Piece]:
        data = bytes(source.pending[:end])
        del source.pending[:end]
        pieces = self._close_open() if self._open not in (None, source) else []
        text = BREAK.sub(lambda match: match[1] + source.prefix, data)
        if self._open is not source:
            text = source.prefix + text
        self._open = None if data.endswith(b"\n") else source
        return [*pieces, Piece(source.stream, text)]

    def _close_open(self) -> list[Piece]:
        source, self._open = self._open, None
        return [Piece(source.stream, b"\n")] if source else []


def _whole_characters(data: bytearray) -> int:
    """How much of it can be shown: not half a UTF-8 character, nor a carriage return whose newline may follow."""
    end = len(data)
    for back in range(1, min(4, end) + 1):
        byte = data[end - back]
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return end - back if length > back else end
        if byte < 0x80:
            break
    return end - 1 if data.endswith(b"\r") else end


class Tail:
    """The last lines of a task's output, of both streams as they came."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=TAIL_LINES)
        self._rest: dict[Stream, bytes] = {}

    def feed(self, stream: Stream, data: bytes) -> None:
        """More output."""
        *lines, rest = (self._rest.get(stream, b"") + data).split(b"\n")
        self._rest[stream] = rest[-TAIL_LINE_LIMIT:]
        self._lines.extend(map(_shown, lines[-TAIL_LINES:]))

    @property
    def lines(self) -> tuple[str, ...]:
        """The last lines, unfinished ones too."""
        rests = [_shown(rest) for rest in self._rest.values() if rest]
        return tuple([*self._lines, *rests][-TAIL_LINES:])


def _shown(line: bytes) -> str:
    """As a terminal would leave it: after the last carriage return."""
    text = line[-TAIL_LINE_LIMIT:].rstrip(b"\r").rpartition(b"\r")[2]
    return text.decode(errors="replace")
