"""A recorded session as rows in order of time (tests/golden/transcripts/*/index.md)."""

import re
from dataclasses import dataclass
from pathlib import Path

from tests.wire.recorded import TRANSCRIPTS

_END = re.compile(r"(?P<time>[\d.]+) (FIN|RST) by (?P<who>[a-z]+)")
_FILE = re.compile(r"`(?P<stem>[^`]+)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One message. `what` is a request line, a status, or `record N at byte B`; `title` the heading above it.

    `stem` is where its files lie, None if the recorder kept an equal message only once.
    """

    number: int
    time: float
    connection: int
    sender: str
    receiver: str
    what: str
    kind: str
    stem: Path | None
    meaning: str
    title: str

    def read(self, suffix: str) -> bytes | None:
        """A file of this row, or None if there is none."""
        path = self.body_path(suffix)
        return path.read_bytes() if path is not None else None

    def body_path(self, suffix: str) -> Path | None:
        """Where a file of this row lies."""
        path = self.stem.with_name(self.stem.name + suffix) if self.stem is not None else None
        return path if path is not None and path.exists() else None

    @property
    def is_request(self) -> bool:
        """Whether it is a request (of HTTP or libprocess), not an answer or a record of a stream."""
        return not self.what.startswith("record ") and not self.what[:3].isdigit()

    @property
    def is_record(self) -> bool:
        """Whether it is a record of a stream."""
        return self.what.startswith("record ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """One side has closed a connection that `client` had opened to `server`."""

    time: float
    connection: int
    who: str
    client: str
    server: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What the recorder has done, as the heading above the next rows says."""

    time: float
    title: str


Happening = Row | Closed | Moment


def read_session(name: str) -> list[Happening]:
    """All rows, headings and closed connections of a session in the order they happened."""
    text = (TRANSCRIPTS / name / "index.md").read_text()
    connections, _, messages = text.partition("## Messages")
    events = _rows(messages, name)
    for closed in _closings(connections.partition("## Connections")[2]):
        events.insert(_place(closed, events), closed)
    return events


def _place(closed: Closed, events: list[Happening]) -> int:
    """Before what happened in the same millisecond, but after the last message on that connection."""
    by_time = sum(event.time < closed.time for event in events)
    own = (n + 1 for n, event in enumerate(events) if _is_before(event, closed))
    return max((by_time, *own))


def _is_before(event: Happening, closed: Closed) -> bool:
    return isinstance(event, Row) and event.connection == closed.connection and event.time <= closed.time


def _closings(table: str) -> list[Closed]:
    closings = []
    for cells in _cells(table):
        first = _END.search(cells[5]) if len(cells) > 5 and cells[0].isdigit() else None
        if first is not None:
            client, _, server = cells[2].partition(" → ")
            time, connection = float(first["time"]), int(cells[0])
            closings.append(Closed(time=time, connection=connection, who=first["who"], client=client, server=server))
    return closings


def _rows(table: str, session: str) -> list[Happening]:
    rows, title = list[Happening](), ""
    for cells in _cells(table):
        if len(cells) > 7 and cells[7].startswith("**"):
            title = cells[7].strip("*")
            rows.append(Moment(time=float(cells[1]), title=title))
        if not cells[0].isdigit():
            continue
        sender, _, receiver = cells[3].partition(" → ")
        file = _FILE.search(cells[6])
        rows.append(
            Row(
                number=int(cells[0]),
                time=float(cells[1]),
                connection=int(cells[2]),
                sender=sender,
                receiver=receiver,
                what=cells[4],
                kind=cells[5],
                stem=TRANSCRIPTS / session / file["stem"] if file is not None else None,
                meaning=cells[7] if len(cells) > 7 else "",
                title=title,
            )
        )
    return rows


def _cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line[2:].split("|")] for line in table.splitlines() if line.startswith("| ")]
