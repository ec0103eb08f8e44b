"""Who of an agent's containers holds which images, on disk, for the next agent and for the others of a store.

<work_dir>/provisioner/holders/<hash of the holder's name>      its mark; as long as it is there, its trees stay

A mark is there before a tree is used, and goes after the use has ended.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """`mark`: the path of its mark."""

    name: str
    digests: tuple[str, ...]
    mark: str


class Holders:
    """The marks of one agent. Reads and writes files."""

    def __init__(self, directory: Path) -> None:
        """`directory` is absolute."""
        self._directory = directory

    def find(self, name: str) -> Holder:
        """What a holder holds; nothing, if there is no mark."""
        return self._read(self._mark(name)) or Holder(name=name, digests=(), mark=str(self._mark(name)))

    def all(self) -> Iterator[Holder]:
        """Those with a mark. One that cannot be read is removed: nobody knows what it means."""
        with contextlib.suppress(FileNotFoundError):
            for entry in sorted(os.listdir(self._directory)):
                found = self._read(self._directory / entry)
                if found is None:
                    (self._directory / entry).unlink(missing_ok=True)
                else:
                    yield found

    def add(self, name: str, digest: str) -> Holder:
        """Write down that it holds this, too. Raises OSError."""
        known = self.find(name)
        found = Holder(name=name, digests=tuple(dict.fromkeys((*known.digests, digest))), mark=known.mark)
        self._directory.mkdir(parents=True, exist_ok=True)
        fresh = f"{found.mark}.new"
        Path(fresh).write_text(json.dumps({"holder": name, "digests": found.digests}))
        os.replace(fresh, found.mark)
        return found

    def remove(self, name: str) -> None:
        """Idempotent."""
        self._mark(name).unlink(missing_ok=True)

    def _mark(self, name: str) -> Path:
        return self._directory / hashlib.sha256(name.encode()).hexdigest()

    def _read(self, path: Path) -> Holder | None:
        try:
            value = json.loads(path.read_bytes())
            return Holder(name=str(value["holder"]), digests=tuple(map(str, value["digests"])), mark=str(path))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            _log.warning("%s cannot be read: %s", path, error)
            return None
