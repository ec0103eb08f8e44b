"""Prints docs/compat.md: what differs from Apache Mesos 1.11, from the table that the replay of the recordings checks.

python scripts/print_compat.py > docs/compat.md
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.compat.differences import AGENT_SESSIONS, DIFFERENCES, MASTER_SESSIONS, Difference

_HEAD = """\
# How close to Apache Mesos 1.11

The tests replay recorded sessions of stock Apache Mesos 1.11.0 programs, request by request and in order, against our
master ({masters})
and our agent ({agents}). Ids are mapped. For each answer they compare the status, `Content-Type`,
whether there is a `Mesos-Stream-Id`, and texts; for each event and each libprocess message the set of keys; for
status updates also state, source, reason and message; and there must be no events beyond the recorded ones. Not
compared: values of ids, times, uuids and addresses, the order of resources within a text, and how many heartbeats and
offers come.

All is equal but for these rows. The numbers are those of the messages in `tests/golden/transcripts/<session>/index.md`.

| what | ours | why | recorded messages |
|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    head = _HEAD.format(masters=_named(MASTER_SESSIONS), agents=_named(AGENT_SESSIONS))
    return head + "".join(_row(difference) for difference in DIFFERENCES)


def _named(sessions: tuple[str, ...]) -> str:
    return ", ".join(f"`{session}`" for session in sessions)


def _row(difference: Difference) -> str:
    rows = "; ".join(f"{session} {', '.join(map(str, numbers))}" for session, numbers in difference.rows.items())
    return f"| {difference.what} | {difference.ours} | {difference.reason} | {rows} |\n"


if __name__ == "__main__":
    sys.stdout.write(page())
