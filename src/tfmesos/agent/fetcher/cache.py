"""What was fetched once for several tasks of a user.

<fetcher_cache_dir>/<agent>/      removed when the agent starts and ends
  <user>/                         of that user, mode 0700: what one user's tasks fetched is not another's business
    <number>                      one file; the URI it came from is known to the running agent only
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import shutil
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from tfmesos.agent.ownership import check_ownership
from tfmesos.agent.users import Identity

_log = logging.getLogger(__name__)

Download = Callable[[str, str, str, Identity | None], Awaitable[None]]
"""URI, directory, name of the file to make in it, as whom. Raises if that failed; is cancelled if nobody wants it."""


@dataclass(slots=True)
class _Entry:
    path: str
    download: asyncio.Task[None]
    size: int = 0
    holders: int = 0
    is_dropped: bool = False


class Cache:
    """Files by user and URI; those used longest ago go first when there is not room for all."""

    def __init__(self, parent: Path, owner: str, size: int, download: Download) -> None:
        """A directory of its own below `parent`, told from others by `owner`; `size` bytes may be kept."""
        self._path = parent / hashlib.sha256(owner.encode()).hexdigest()[:16]
        self._size = size
        self._download = download
        self._entries: OrderedDict[tuple[str, str], _Entry] = OrderedDict()
        self._count = 0
        self._is_usable: bool | None = None

    @property
    def used(self) -> int:
        """Bytes that are kept."""
        return sum(entry.size for entry in self._entries.values())

    @contextlib.asynccontextmanager
    async def hold(self, uri: str, user: str, identity: Identity | None) -> AsyncIterator[str | None]:
        """A file with what a URI leads to, which stays while it is held; None if it could not be had.

        Several who ask at once wait for the same download, which goes on if one of them gives up.
        """
        entry = self._find(uri, user, identity) if self._prepare() else None
        if entry is None:
            yield None
            return
        entry.holders += 1
        try:
            await asyncio.wait([entry.download])
            self._settle((user, uri), entry)
            yield None if entry.is_dropped else entry.path
        finally:
            entry.holders -= 1
            if not entry.holders and not entry.download.done():
                entry.download.cancel()
                self._drop((user, uri), entry)
            self._shrink()

    async def close(self) -> None:
        """Forget and remove all. Idempotent."""
        downloads = [entry.download for entry in self._entries.values()]
        for download in downloads:
            download.cancel()
        await asyncio.gather(*downloads, return_exceptions=True)
        self._entries.clear()
        if self._is_usable:
            shutil.rmtree(self._path, ignore_errors=True)
            self._is_usable = None

    def _find(self, uri: str, user: str, identity: Identity | None) -> _Entry | None:
        found = self._entries.get((user, uri))
        if found is not None:
            self._entries.move_to_end((user, uri))
            return found
        try:
            directory = self._user_directory(user, identity)
        except OSError as error:
            _log.warning("nothing is cached for user %r: %s", user, error)
            return None
        self._count += 1
        name = str(self._count)
        download = self._download(uri, directory, name, identity)
        entry = _Entry(f"{directory}/{name}", asyncio.ensure_future(download))
        self._entries[(user, uri)] = entry
        return entry

    def _settle(self, key: tuple[str, str], entry: _Entry) -> None:
        """The download has ended: count it, or forget it."""
        if entry.is_dropped or entry.size:
            return
        if entry.download.cancelled() or entry.download.exception() is not None:
            self._drop(key, entry)
            return
        try:
            entry.size = os.stat(entry.path).st_size
        except OSError:
            self._drop(key, entry)
            return
        if self._shrink() > self._size:  # all others are held
            self._drop(key, entry)

    def _shrink(self) -> int:
        """Remove what was used longest ago and nobody holds, until the rest may stay; how much that is."""
        used = self.used
        for key, entry in list(self._entries.items()):
            if used <= self._size:
                break
            if not entry.holders:
                used -= entry.size
                self._drop(key, entry)
        return used

    def _drop(self, key: tuple[str, str], entry: _Entry) -> None:
        entry.is_dropped = True
        if self._entries.get(key) is entry:
            del self._entries[key]
        with contextlib.suppress(OSError):
            os.unlink(entry.path)

    def _prepare(self) -> bool:
        """Whether there is an empty directory that nobody else can put anything into. Made at the first use."""
        if self._is_usable is None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
                check_ownership(self._path.parent.resolve())
                shutil.rmtree(self._path, ignore_errors=True)
                self._path.mkdir(mode=0o711)
                self._path.chmod(0o711)
                self._is_usable = True
            except OSError as error:
                _log.warning("nothing is cached: %s", error)
                self._is_usable = False
        return self._is_usable

    def _user_directory(self, user: str, identity: Identity | None) -> str:
        directory = self._path / (hashlib.sha256(user.encode("utf-8", "surrogateescape")).hexdigest()[:16])
        if not directory.exists():
            directory.mkdir(mode=0o700)
            if identity is not None:
                os.chown(directory, identity.uid, identity.gid)
        return str(directory)
