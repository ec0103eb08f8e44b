"""What a layer may hold."""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass
from typing import IO


@dataclass(frozen=True, slots=True, kw_only=True)
class _Owned:
    mode: int
    uid: int = 0
    gid: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class File(_Owned):
    """Its bytes."""

    content: bytes = b""
    mode: int = 0o644


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory(_Owned):
    """Those above a path need not be named: they come by themselves."""

    mode: int = 0o755


@dataclass(frozen=True, slots=True, kw_only=True)
class Symlink(_Owned):
    """Where it leads."""

    target: str
    mode: int = 0o777


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(_Owned):
    """A character device."""

    major: int
    minor: int
    mode: int = 0o666


@dataclass(frozen=True, slots=True, kw_only=True)
class Whiteout:
    """What a layer beneath has at this path is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opaque:
    """What layers beneath have in this directory is gone."""


Entry = File | Directory | Symlink | Node | Whiteout | Opaque


def member(path: str, entry: Entry) -> tuple[tarfile.TarInfo, IO[bytes] | None]:
    """As tar has it; whiteouts are files with names of their own (OCI image-spec: layer.md)."""
    name = path.strip("/")
    match entry:
        case Whiteout():
            folder, _, last = name.rpartition("/")
            return tarfile.TarInfo(f"{folder}/.wh.{last}".lstrip("/")), None
        case Opaque():
            return tarfile.TarInfo(f"{name}/.wh..wh..opq".lstrip("/")), None
    info = tarfile.TarInfo(name)
    info.mode, info.uid, info.gid = entry.mode, entry.uid, entry.gid
    match entry:
        case File():
            info.size = len(entry.content)
            return info, io.BytesIO(entry.content)
        case Directory():
            info.type = tarfile.DIRTYPE
        case Symlink():
            info.type, info.linkname = tarfile.SYMTYPE, entry.target
        case Node():
            info.type, info.devmajor, info.devminor = tarfile.CHRTYPE, entry.major, entry.minor
    return info, None
