"""Errors of the journal.

TfmesosError
  JournalError          a journal cannot be used; names the file
    JournalMismatch       it holds something else, or another format version
    JournalDamaged        it is damaged before its end
    JournalUnreadable     a record in it has a meaning that this version does not know
    JournalWriteError     the disk is full, or fails
"""

from pathlib import Path

from tfmesos.errors import TfmesosError


class JournalError(TfmesosError):
    """A journal cannot be read or written."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: {reason}")


class JournalMismatch(JournalError):
    """The file is no journal, or one of another kind or version; it was left as it is."""

    def __init__(self, path: Path, found: str, expected: str) -> None:
        self.found = found
        self.expected = expected
        super().__init__(path, f"found {found}, expected {expected}: move the file away to start without its contents")


class JournalDamaged(JournalError):
    """Intact records follow a damaged place: no crash of this program leaves that."""

    def __init__(self, path: Path, offset: int) -> None:
        self.offset = offset
        super().__init__(path, f"damaged at byte {offset}, with intact records behind it")


class JournalUnreadable(JournalError):
    """An intact record that is none of this program's."""


class JournalWriteError(JournalError):
    """A record could not be written; the file holds what it held before."""
