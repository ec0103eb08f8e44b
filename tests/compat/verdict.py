"""What a replay has found against what the table of differences says."""

from collections import Counter
from dataclasses import dataclass, field

from tests.compat.differences import beyond_of, maybe_of, rows_of, texts_of
from tests.compat.recording import Row


@dataclass(slots=True, kw_only=True)
class Findings:
    """What the replay of one side of a session saw."""

    session: str
    side: str
    differences: dict[int, tuple[Row, list[str]]] = field(default_factory=dict)
    beyond: list[str] = field(default_factory=list)
    replayed: int = 0
    compared: int = 0

    def note(self, row: Row, texts: list[str]) -> None:
        """A row differs so; nothing said means that it does not."""
        if texts:
            self.differences[row.number] = (row, texts)


def faults_of(both: list[Findings]) -> list[str]:
    """What the two sides of a session show and the table does not have, and what the table has and they do not show."""
    session = both[0].session
    listed, patterns = rows_of(session), texts_of(session)
    faults, used, seen = list[str](), set[str](), set[int]()
    for findings in both:
        for number, (row, texts) in findings.differences.items():
            new = []
            for text in texts:
                found = {pattern.pattern for pattern in patterns if pattern.fullmatch(text)}
                used |= found
                if not found and not any(pattern.fullmatch(text) for pattern in maybe_of(session)):
                    new.append(text)
            if number in listed:
                seen.add(number)
            elif new:
                faults.append(_told(row, new))
    faults += [f"row {number} is in the table and differs no more" for number in sorted(listed - seen)]
    unused = sorted({pattern.pattern for pattern in patterns} - used)
    faults += [f"text {pattern!r} is in the table and is said no more" for pattern in unused]
    beyond = Counter(event for findings in both for event in findings.beyond) - Counter(beyond_of(session))
    if beyond:
        faults.append(f"beyond the recording and the table: {sorted(beyond.elements())}")
    return faults


def _told(row: Row, texts: list[str]) -> str:
    return f"row {row.number} ({row.sender} to {row.receiver}, {row.what} {row.kind}, after {row.title!r}): {texts}"
