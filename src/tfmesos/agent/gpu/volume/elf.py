"""What of an ELF file decides whether a container needs it: its class, what it needs, the ABI it is made for."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tfmesos.errors import TfmesosError

_MAGIC = b"\x7fELF"
_PT_LOAD, _PT_DYNAMIC, _PT_NOTE = 1, 2, 4
_DT_NULL, _DT_NEEDED, _DT_STRTAB, _DT_SONAME = 0, 1, 5, 14
_NT_GNU_ABI_TAG = 1
_MAX_HEADERS = 1000
_MIN_SIZE = 52  # of the header of a file of 32 bits


class BadElf(TfmesosError):
    """The file is no ELF file, or is damaged."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} is no ELF library: {reason}")
        self.path = path


@dataclass(frozen=True, slots=True, kw_only=True)
class Elf:
    """`bits`: 32 or 64. `soname` and `abi` (operating system's version of `.note.ABI-tag`) are None where absent."""

    bits: int
    needed: tuple[str, ...]
    soname: str | None
    abi: tuple[int, int, int] | None


@dataclass(frozen=True, slots=True)
class _Segment:
    kind: int
    offset: int
    address: int
    size: int


def read_elf(path: Path) -> Elf:
    """Raises BadElf; OSError if it cannot be read."""
    with path.open("rb") as file:
        try:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _Reader(data).read()
        except (ValueError, OverflowError, struct.error) as error:
            raise BadElf(path, str(error)) from error


class _Reader:
    def __init__(self, data: mmap.mmap) -> None:
        if data[:4] != _MAGIC:
            raise ValueError("its first bytes are not '\\x7fELF'")
        if len(data) < _MIN_SIZE:
            raise ValueError(f"{len(data)} bytes")
        if data[4] not in (1, 2) or data[5] not in (1, 2):
            raise ValueError(f"class {data[4]}, byte order {data[5]}")
        self._data = data
        self._is_64 = data[4] == 2
        self._order = "<" if data[5] == 1 else ">"

    def read(self) -> Elf:
        segments = list(self._segments())
        needed: list[int] = []
        soname = texts = None
        for tag, value in self._dynamic(segments):
            if tag == _DT_NEEDED:
                needed.append(value)
            elif tag == _DT_SONAME:
                soname = value
            elif tag == _DT_STRTAB:
                texts = _offset_of(value, segments)
        if texts is None and (needed or soname is not None):
            raise ValueError("its names are missing")
        return Elf(
            bits=64 if self._is_64 else 32,
            needed=tuple(self._text((texts or 0) + name) for name in needed),
            soname=None if soname is None else self._text((texts or 0) + soname),
            abi=self._abi(segments),
        )

    def _segments(self) -> Iterator[_Segment]:
        if self._is_64:
            (start,), (size, count) = self._at("Q", 32), self._at("HH", 54)
        else:
            (start,), (size, count) = self._at("I", 28), self._at("HH", 42)
        if count > _MAX_HEADERS:
            raise ValueError(f"{count} segments")
        for position in range(start, start + size * count, size or 1):
            if self._is_64:
                kind, _, offset, address, _, length = self._at("IIQQQQ", position)
            else:
                kind, offset, address, _, length = self._at("IIIII", position)
            yield _Segment(kind, offset, address, length)

    def _dynamic(self, segments: list[_Segment]) -> Iterator[tuple[int, int]]:
        entry = struct.Struct(self._order + ("qQ" if self._is_64 else "iI"))
        for segment in segments:
            if segment.kind != _PT_DYNAMIC:
                continue
            for position in range(segment.offset, segment.offset + segment.size, entry.size):
                tag, value = entry.unpack_from(self._data, position)
                if tag == _DT_NULL:
                    break
                yield tag, value

    def _abi(self, segments: list[_Segment]) -> tuple[int, int, int] | None:
        for segment in segments:
            if segment.kind == _PT_NOTE:
                for kind, name, content in self._notes(segment):
                    if kind == _NT_GNU_ABI_TAG and name == b"GNU\0" and len(content) >= 16:
                        _, *version = struct.unpack_from(self._order + "4I", content)
                        return version[0], version[1], version[2]
        return None

    def _notes(self, segment: _Segment) -> Iterator[tuple[int, bytes, bytes]]:
        position, end = segment.offset, segment.offset + segment.size
        while position + 12 <= end:
            name_size, size, kind = self._at("3I", position)
            name_at = position + 12
            content_at = name_at + name_size + -name_size % 4
            position = content_at + size + -size % 4
            if position > end:
                raise ValueError("a note lies outside of its segment")
            yield kind, self._data[name_at : name_at + name_size], self._data[content_at : content_at + size]

    def _at(self, layout: str, position: int) -> tuple[int, ...]:
        return struct.unpack_from(self._order + layout, self._data, position)

    def _text(self, position: int) -> str:
        end = self._data.find(b"\0", position)
        if end < 0:
            raise ValueError("a name lies outside of it")
        return self._data[position:end].decode(errors="surrogateescape")


def _offset_of(address: int, segments: list[_Segment]) -> int | None:
    for segment in segments:
        if segment.kind == _PT_LOAD and segment.address <= address < segment.address + segment.size:
            return segment.offset + address - segment.address
    return None
