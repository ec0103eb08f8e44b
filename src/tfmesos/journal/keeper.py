"""Keeps a state on disk as the facts that made it, over full disks and with a file that stays small."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, TypeVar

from tfmesos.journal.codec import RecordCodec
from tfmesos.journal.errors import JournalUnreadable, JournalWriteError
from tfmesos.journal.journal import Journal

T = TypeVar("T")
_COMPACT_FROM = 4 << 20
_COMPACT_GROWTH = 4
"""The file is written anew when it has grown so many times since it was, which costs little over all."""
_RETRY_S = 1.0
_log = logging.getLogger(__name__)


class Keeper(Generic[T]):
    """A journal of facts whose owner holds the state that they come to.

    `keep` never fails: what the disk does not take waits here, in order, and is tried again with every later call.
    """

    def __init__(self, journal: Journal, codec: RecordCodec[T], *, strict: bool) -> None:
        """For `open`."""
        self.path = journal.path
        self._journal = journal
        self._codec = codec
        self._snapshot: Callable[[], Iterable[T]] | None = None
        self.skipped = journal.skipped
        """Damaged places and records without a meaning that were left out."""
        self._held: list[bytes] = []
        self._is_failing = False
        self._compact_at = max(_COMPACT_FROM, journal.size)
        self._facts = self._decoded(journal.take_records(), strict)

    @classmethod
    def open(cls, path: Path, *, kind: str, version: int, codec: RecordCodec[T], strict: bool = True) -> Keeper[T]:
        """Open or make the file. With `strict` any damage is an error, else what is damaged is left out and logged.

        Errors: JournalError; OSError for an impossible path.
        """
        journal = Journal.open(path, kind=kind, version=version, strict=strict)
        if journal.warning is not None:
            _log.warning("%s", journal.warning)
        return cls(journal, codec, strict=strict)

    def begin(self, snapshot: Callable[[], Iterable[T]]) -> None:
        """From now on facts are kept; `snapshot` gives the facts that make the owner's state, the last one included.

        Damage that was left out is left out of the file, too: it is met only once.
        """
        self._snapshot = snapshot
        if self.skipped or self._journal.size >= _COMPACT_FROM:
            self.compact()

    def take_facts(self) -> list[T]:
        """What was kept before, oldest first; held here no longer."""
        facts, self._facts = self._facts, []
        return facts

    @property
    def is_behind(self) -> bool:
        """Whether the disk has not taken all yet."""
        return bool(self._held)

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self._journal.size

    def keep(self, fact: T) -> None:
        """Write a fact that the owner's state has taken in already; it survives the end of this process at once."""
        self._held.append(self._codec.encode(fact))
        self._write_held()
        if self._journal.size >= self._compact_at:
            self.compact()

    async def wait_written(self) -> None:
        """Until everything kept survives the end of this process: at once, unless the disk is full."""
        while self._held:
            self._write_held()
            if self._held:
                await asyncio.sleep(_RETRY_S)

    async def sync(self) -> None:
        """Until everything kept so far is on disk. Callers at the same time share one flush."""
        while True:
            await self.wait_written()
            try:
                return await self._journal.sync()
            except JournalWriteError as error:
                _log.error("%s", error)
                if not self.compact():
                    await asyncio.sleep(_RETRY_S)

    def close(self) -> None:
        """Let go of the file. Idempotent."""
        self._write_held()
        if self._held:
            _log.error("%s: %d records were never written", self.path, len(self._held))
        self._held.clear()
        self._journal.close()

    def _write_held(self) -> None:
        written = 0
        try:
            for record in self._held:
                self._journal.append(record)
                written += 1
        except JournalWriteError as error:
            if not self._is_failing:
                _log.error("%s; it is tried again each second", error)
            self._is_failing = True
        del self._held[:written]
        if self._is_failing and not self._held:
            _log.warning("%s: can be written again", self.path)
            self._is_failing = False

    def compact(self) -> bool:
        """Write the state anew, on disk when this returns; False if the disk does not take it (the old file stays)."""
        assert self._snapshot is not None, "facts are kept before the state was read"
        try:
            self._journal.rewrite(map(self._codec.encode, self._snapshot()))
        except JournalWriteError as error:
            _log.error("%s", error)
            self._compact_at = self._journal.size * 2
            return False
        self._held.clear()
        self._compact_at = max(_COMPACT_FROM, self._journal.size * _COMPACT_GROWTH)
        return True

    def _decoded(self, records: list[bytes], strict: bool) -> list[T]:
        facts = []
        for index, record in enumerate(records):
            try:
                facts.append(self._codec.decode(record))
            except ValueError as error:
                fault = f"record {index + 1} of {len(records)}: {error}"
                if strict:
                    self._journal.close()
                    raise JournalUnreadable(self.path, fault) from error
                _log.warning("%s: skipped %s", self.path, fault)
                self.skipped += 1
        return facts
