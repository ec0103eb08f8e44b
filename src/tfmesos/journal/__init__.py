"""One append-only file that survives kill -9 at any byte. Knows no Mesos; standard library only.

    header   "tfmesos-journal <kind> <version>" and a line's end, written by a rename: never torn
    frame    4 bytes mark, 4 bytes length, 4 bytes CRC-32 of length and body (big-endian), body
    frame    …

Promises:

* what `append` returned for is read again after a kill -9 of this process, what `sync` returned for after a loss of
  power;
* a frame that is torn at the end is cut off when the file is opened, with a text in `Journal.warning`;
* damage before the end is refused (or skipped, with a warning, if `strict` is False); a file of another kind or version
  is refused by name, untouched;
* `rewrite` replaces the whole at once: a reader finds the old records or the new ones.
"""

from tfmesos.journal.codec import BINARY, FLAG, SECONDS, TEXT, Field, RecordCodec, message
from tfmesos.journal.errors import (
    JournalDamaged,
    JournalError,
    JournalMismatch,
    JournalUnreadable,
    JournalWriteError,
)
from tfmesos.journal.journal import Journal
from tfmesos.journal.keeper import Keeper

__all__ = [
    "BINARY",
    "FLAG",
    "SECONDS",
    "TEXT",
    "Field",
    "Journal",
    "JournalDamaged",
    "JournalError",
    "JournalMismatch",
    "JournalUnreadable",
    "JournalWriteError",
    "Keeper",
    "RecordCodec",
    "message",
]
