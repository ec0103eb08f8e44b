"""Makes small ELF files and caches of the dynamic linker."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

_OLD_MAGIC, _NEW_MAGIC = b"ld.so-1.7.0\0", b"glibc-ld.so.cache1.1"
_ADDRESS = 0x10000


def elf(
    *,
    bits: int = 64,
    soname: str | None = None,
    needed: Sequence[str] = (),
    abi: tuple[int, int, int] | None = None,
    order: str = "<",
) -> bytes:
    """A shared library with nothing in it but what is said of it."""
    is_64 = bits == 64
    texts, names = bytearray(b"\0"), {}
    for name in [*needed, *([soname] if soname else [])]:
        names[name] = len(texts)
        texts += name.encode() + b"\0"
    header_size, segment_size = (64, 56) if is_64 else (52, 32)
    texts_at = header_size + 3 * segment_size
    dynamic_at = texts_at + len(texts)
    tags = [(1, names[name]) for name in needed] + ([(14, names[soname])] if soname else [])
    tags += [(5, _ADDRESS + texts_at), (0, 0)]
    dynamic = b"".join(struct.pack(order + ("qQ" if is_64 else "iI"), *tag) for tag in tags)
    note = b"" if abi is None else struct.pack(order + "3I4s4I", 4, 16, 1, b"GNU\0", 0, *abi)
    note_at = dynamic_at + len(dynamic)
    size = note_at + len(note)
    segments = [
        (1, 0, _ADDRESS, size),
        (2, dynamic_at, _ADDRESS + dynamic_at, len(dynamic)),
        (4, note_at, 0, len(note)),
    ]
    if is_64:
        start = struct.pack(
            order + "HHIQQQIHHHHHH", 3, 62, 1, 0, header_size, 0, 0, header_size, segment_size, 3, 0, 0, 0
        )
        table = [struct.pack(order + "IIQQQQQQ", kind, 4, at, to, to, n, n, 1) for kind, at, to, n in segments]
    else:
        start = struct.pack(
            order + "HHIIIIIHHHHHH", 3, 3, 1, 0, header_size, 0, 0, header_size, segment_size, 3, 0, 0, 0
        )
        table = [struct.pack(order + "IIIIIIII", kind, at, to, to, n, n, 4, 1) for kind, at, to, n in segments]
    identity = b"\x7fELF" + bytes([2 if is_64 else 1, 1 if order == "<" else 2, 1]) + bytes(9)
    return identity + start + b"".join(table) + bytes(texts) + dynamic + note


def new_cache(libraries: Iterable[tuple[str, str]], *, extension: bytes = b"", flags: int = 0x303) -> bytes:
    """As glibc has written it from 2.32 on."""
    libraries = list(libraries)
    texts, entries = bytearray(), []
    start = 48 + 24 * len(libraries)
    for name, path in libraries:
        at = start + len(texts)
        texts += name.encode() + b"\0" + path.encode() + b"\0"
        entries.append(struct.pack("<iIIIQ", flags, at, at + len(name.encode()) + 1, 0, 0))
    header = _NEW_MAGIC + struct.pack("<II5I", len(libraries), len(texts), 0, 0, 0, 0, 0)
    return header + b"".join(entries) + bytes(texts) + extension


def old_cache(libraries: Iterable[tuple[str, str]]) -> bytes:
    """As before glibc 2.2."""
    texts, entries = bytearray(), []
    for name, path in libraries:
        at = len(texts)
        texts += name.encode() + b"\0" + path.encode() + b"\0"
        entries.append(struct.pack("<iII", 3, at, at + len(name.encode()) + 1))
    return _OLD_MAGIC + struct.pack("<I", len(entries)) + b"".join(entries) + bytes(texts)


def mixed_cache(libraries: Iterable[tuple[str, str]]) -> bytes:
    """As glibc 2.2 to 2.31 wrote it: what old programs read, then what new ones read."""
    libraries = list(libraries)
    old = _OLD_MAGIC + struct.pack("<I", len(libraries)) + b"".join(struct.pack("<iII", 3, 0, 0) for _ in libraries)
    return old + bytes(-len(old) % 8) + new_cache(libraries)
