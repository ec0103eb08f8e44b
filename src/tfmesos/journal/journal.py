"""The journal."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterable
from pathlib import Path

from tfmesos.journal._files import flush_directory, replace_file, temporary_of, write_all
from tfmesos.journal._frames import decode_frames, encode_frame
from tfmesos.journal.errors import JournalDamaged, JournalMismatch, JournalWriteError

_HEADER = re.compile(rb"tfmesos-journal ([a-z-]+) (\d+)\n")


class Journal:
    """An open journal. One process at a time may have it open: its owner sees to that."""

    def __init__(self, path: Path, kind: str, version: int) -> None:
        """For `open`."""
        self.path = path
        self.warning: str | None = None
        """A line for the log if something was cut off or skipped when the file was opened."""
        self.skipped = 0
        """Damaged places among the records that were skipped then."""
        self.size = 0
        """Bytes in the file."""
        self._header = _header(kind, version)
        self._records: list[bytes] = []
        self._descriptor = -1
        self._has_partial_frame = False
        self._sync_failure: str | None = None
        self._appended = 0
        self._synced = 0
        self._flushing: asyncio.Future[None] | None = None

    @classmethod
    def open(cls, path: Path, *, kind: str, version: int, strict: bool = True) -> Journal:
        """Open the file, or make it. `kind` is made of small letters and dashes.

        Errors: JournalMismatch, JournalDamaged (only if `strict`), JournalWriteError; OSError for an impossible path.
        """
        journal = cls(path, kind, version)
        temporary_of(path).unlink(missing_ok=True)
        data = _contents(path)
        if not data or journal._is_torn_header(data):
            journal.rewrite(())
            return journal
        journal._read(data, strict)
        journal._begin_to_append()
        return journal

    @property
    def records(self) -> list[bytes]:
        """What was in the file when it was opened, oldest first."""
        return self._records

    def take_records(self) -> list[bytes]:
        """The same, kept here no longer."""
        records, self._records = self._records, []
        return records

    def append(self, record: bytes) -> None:
        """Add a record; it survives this process from now on, and the machine after the next `sync`.

        Errors: JournalWriteError (the file is as before; it may be tried again).
        """
        frame = encode_frame(record)
        try:
            self._cut_partial_frame()
            self._has_partial_frame = True
            write_all(self._descriptor, frame)
            self._has_partial_frame = False
        except OSError as error:
            reason = f"cannot add a record of {len(record)} bytes: {error.strerror}"
            self._cut_after_failure()
            raise JournalWriteError(self.path, reason) from error
        self.size += len(frame)
        self._appended += 1

    async def sync(self) -> None:
        """Return when all that was appended before is on disk. Callers at the same time share one flush.

        Errors: JournalWriteError, from then on until `rewrite`: after a failed flush nobody knows what is on disk
        (kernel: fsync(2) reports a failure once, then forgets the pages).
        """
        wanted = self._appended
        while self._synced < wanted and self._sync_failure is None:
            if self._flushing is None:
                self._flushing = self._start_flush()
            await asyncio.wait((self._flushing,))
        if self._sync_failure is not None:
            raise JournalWriteError(self.path, self._sync_failure)

    def rewrite(self, records: Iterable[bytes]) -> None:
        """Replace all records, on disk when this returns. Errors: JournalWriteError (the old ones are still there).

        If only the directory cannot be flushed the new ones are there, and `sync` says what is wrong.
        """
        parts = [self._header, *map(encode_frame, records)]
        try:
            descriptor = replace_file(self.path, parts)
        except OSError as error:
            raise JournalWriteError(self.path, f"cannot be written anew: {error.strerror}") from error
        self.close()
        self._descriptor = descriptor
        self.size = sum(map(len, parts))
        self._has_partial_frame = False
        self._synced = self._appended
        try:
            flush_directory(self.path.parent)
            self._sync_failure = None
        except OSError as error:
            self._sync_failure = f"its directory cannot be flushed to disk: {error.strerror}"

    def close(self) -> None:
        """Let go of the file. Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _is_torn_header(self, data: bytes) -> bool:
        """Only a loss of power can leave that: the first rename came before its contents."""
        return len(data) < len(self._header) and self._header.startswith(data)

    def _read(self, data: bytes, strict: bool) -> None:
        if not data.startswith(self._header):
            raise JournalMismatch(self.path, _kind_of(data), _kind_of(self._header))
        frames = decode_frames(data, len(self._header))
        if frames.damaged and strict:
            raise JournalDamaged(self.path, frames.damaged[0])
        warnings = [f"damaged at byte {offset}, records were skipped" for offset in frames.damaged]
        if frames.end < len(data):
            warnings.append(f"{len(data) - frames.end} bytes of a torn record at byte {frames.end} were cut off")
        self.warning = f"{self.path}: {'; '.join(warnings)}" if warnings else None
        self.skipped = len(frames.damaged)
        self._records = frames.records
        self.size = frames.end
        self._has_partial_frame = frames.end < len(data)

    def _begin_to_append(self) -> None:
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            self._cut_partial_frame()
        except OSError as error:
            raise JournalWriteError(self.path, f"cannot be cut: {error.strerror}") from error

    def _cut_partial_frame(self) -> None:
        if self._has_partial_frame:
            os.ftruncate(self._descriptor, self.size)
            self._has_partial_frame = False

    def _cut_after_failure(self) -> None:
        try:
            self._cut_partial_frame()
        except OSError:
            return  # tried again before the next record; a reader cuts it off as well

    def _start_flush(self) -> asyncio.Future[None]:
        try:
            descriptor = os.dup(self._descriptor)
        except OSError as error:
            raise JournalWriteError(self.path, f"cannot be flushed to disk: {error.strerror}") from error
        appended = self._appended
        flushing = asyncio.get_running_loop().run_in_executor(None, _flush_and_close, descriptor)
        flushing.add_done_callback(lambda done: self._on_flushed(done, appended))
        return flushing

    def _on_flushed(self, done: asyncio.Future[None], appended: int) -> None:
        self._flushing = None
        failure = None if done.cancelled() else done.exception()
        if done.cancelled() or self._synced >= appended:
            return  # the loop ends; or all was written anew meanwhile
        if failure is None:
            self._synced = appended
        else:
            self._sync_failure = f"cannot be flushed to disk: {failure}"


def _flush_and_close(descriptor: int) -> None:
    """A descriptor of its own: the journal may be rewritten or closed meanwhile."""
    try:
        os.fdatasync(descriptor)
    finally:
        os.close(descriptor)


def _contents(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _header(kind: str, version: int) -> bytes:
    header = f"tfmesos-journal {kind} {version}\n".encode()
    assert _HEADER.fullmatch(header), header
    return header


def _kind_of(data: bytes) -> str:
    found = _HEADER.match(data)
    return f"{found[1].decode()} format {int(found[2])}" if found else "no journal of tfmesos"
