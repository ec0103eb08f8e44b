"""Which libraries the dynamic linker of a machine knows: /etc/ld.so.cache, in the three layouts that glibc has written.

    old     "ld.so-1.7.0\\0"          count, entries of 12 bytes, texts                       (until glibc 2.1)
    both    old, padded to 8 bytes, then new                                                (glibc 2.2 to 2.31)
    new     "glibc-ld.so.cache1.1"   header of 48 bytes, entries of 24 bytes, texts, extensions (from glibc 2.32)

Offsets of texts count from the start of the layout they belong to; in the old one from the end of its entries
(glibc: sysdeps/generic/dl-cache.h).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tfmesos.errors import TfmesosError

_OLD_MAGIC = b"ld.so-1.7.0\0"
_NEW_MAGIC = b"glibc-ld.so.cache1.1"
_OLD_ENTRY = struct.Struct("<iII")
_NEW_ENTRY = struct.Struct("<iIIIQ")
_NEW_COUNTS = struct.Struct("<II")
_NEW_HEADER = 48
_PADDING = 8
_IS_ELF = 1
_MAX_ENTRIES = 1_000_000


class BadLdCache(TfmesosError):
    """The file is no cache of the dynamic linker, or was cut off."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} is no cache of the dynamic linker: {reason}")
        self.path = path


@dataclass(frozen=True, slots=True)
class CachedLibrary:
    """One entry: what programs ask for, and the file they get."""

    name: str
    path: str


def read_ld_cache(path: Path) -> list[CachedLibrary]:
    """All ELF libraries in the cache, in its order. Raises BadLdCache; OSError if it cannot be read."""
    data = path.read_bytes()
    try:
        return list(_entries(data))
    except (ValueError, struct.error) as error:
        raise BadLdCache(path, str(error)) from error


def _entries(data: bytes) -> Iterator[CachedLibrary]:
    if data.startswith(_NEW_MAGIC):
        return _new_entries(data)
    if not data.startswith(_OLD_MAGIC):
        raise ValueError("it begins with neither 'ld.so-1.7.0' nor 'glibc-ld.so.cache1.1'")
    count = _count(data, len(_OLD_MAGIC))
    start = len(_OLD_MAGIC) + 4
    end = start + count * _OLD_ENTRY.size
    new = end + -end % _PADDING
    if data.startswith(_NEW_MAGIC, new):
        return _new_entries(data[new:])
    return _read(data, _OLD_ENTRY, start, count, texts=end)


def _new_entries(data: bytes) -> Iterator[CachedLibrary]:
    count, texts_size = _NEW_COUNTS.unpack_from(data, len(_NEW_MAGIC))
    if count > _MAX_ENTRIES:
        raise ValueError(f"{count} entries")
    if _NEW_HEADER + count * _NEW_ENTRY.size + texts_size > len(data):
        raise ValueError(f"it ends before its {count} entries and {texts_size} bytes of names do")
    return _read(data, _NEW_ENTRY, _NEW_HEADER, count, texts=0)


def _read(data: bytes, entry: struct.Struct, start: int, count: int, *, texts: int) -> Iterator[CachedLibrary]:
    for position in range(start, start + count * entry.size, entry.size):
        flags, name, path, *_ = entry.unpack_from(data, position)
        if flags & _IS_ELF:
            yield CachedLibrary(_text(data, texts + name), _text(data, texts + path))


def _count(data: bytes, position: int) -> int:
    (count,) = struct.unpack_from("<I", data, position)
    if count > _MAX_ENTRIES:
        raise ValueError(f"{count} entries")
    return int(count)


def _text(data: bytes, position: int) -> str:
    end = data.find(b"\0", position)
    if position >= len(data) or end < 0:
        raise ValueError("a name lies outside of it")
    return data[position:end].decode(errors="surrogateescape")
