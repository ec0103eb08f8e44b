"""Prints docs/compat.md: what differs from Apache Mesos 1.11 as the replay of the recordings checks, and what is there.

python scripts/print_compat.py > docs/compat.md
"""

import sys
import textwrap
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.compat.differences import DIFFERENCES, NOT_REPLAYED, Difference
from tests.compat.features import FEATURES
from tests.compat.sessions import SESSIONS

_WIDTH = 118
_HEAD = """\
# How close to Apache Mesos 1.11

## What the recordings show

The tests replay recorded sessions of stock Apache Mesos 1.11.0 programs, request by request and in order: what agents,
schedulers and clients sent to the master against our master, and what the master, executors and clients sent to the
agent against our agent (the libprocess messages of stock command executors, too; our agent has no use for them). The
sessions are

{sessions}.

Ids are mapped. For each answer they compare the status, the headers that mean something, the set of keys of a JSON or
protobuf body, and texts; for each event and each libprocess message the set of keys; for status updates also state,
source, reason and message; and there must be no events and messages beyond the recorded ones. Not compared: values of
ids, times, uuids and addresses, the order of resources within a text, and how many heartbeats, pings and offers come.

All is equal but for these rows. The numbers are those of the messages in `tests/golden/transcripts/<session>/index.md`.

| what | ours | why | recorded messages |
|---|---|---|---|
"""

_NOT_REPLAYED = """
Not replayed:

| session | why |
|---|---|
"""

_FEATURES = """
## What of Apache Mesos 1.11 is there

*better* means: there, and more than Apache Mesos does.

"""


def page() -> str:
    """The whole page."""
    names = ", ".join(f"`{session.name}`" for session in SESSIONS)
    head = _HEAD.format(sessions=textwrap.fill(names, _WIDTH, break_on_hyphens=False))
    rows = "".join(_row(difference) for difference in DIFFERENCES)
    left_out = "".join(f"| {session} | {reason} |\n" for session, reason in NOT_REPLAYED.items())
    return head + rows + _NOT_REPLAYED + left_out + _FEATURES + "\n".join(_feature_lines())


def _row(difference: Difference) -> str:
    sessions = dict.fromkeys((*difference.rows, *difference.absent, *difference.texts, *difference.maybe))
    rows = [f"{session} {_numbers(difference, session)}".strip() for session in sessions]
    return f"| {difference.what} | {difference.ours} | {difference.reason} | {'; '.join(rows)} |\n"


def _numbers(difference: Difference, session: str) -> str:
    """Nothing if the difference is one of single keys."""
    return ", ".join(map(str, sorted((*difference.rows.get(session, ()), *difference.absent.get(session, ())))))


def _feature_lines() -> list[str]:
    lines = []
    for part, features in FEATURES.items():
        lines += [f"### {part}", "", "| feature | ours | |", "|---|---|---|"]
        lines += [f"| {feature.name} | {feature.verdict} | {feature.line} |" for feature in features]
        lines.append("")
    return lines


if __name__ == "__main__":
    sys.stdout.write(page())
