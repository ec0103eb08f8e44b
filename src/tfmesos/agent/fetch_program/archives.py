"""What is extracted: tar (gzip, bzip2, xz), zip, single files under gzip; told apart by the name (Mesos 1.11)."""

from __future__ import annotations

import contextlib
import gzip
import lzma
import os
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from typing import BinaryIO

from tfmesos.agent.fetch_program.errors import FetchError
from tfmesos.agent.fetch_program.places import Place

_CHUNK = 1024 * 1024
_LONGEST_TARGET = 4096
_BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    ValueError,  # a number in a header that is none
    NotImplementedError,  # a way to compress
    RuntimeError,  # a password is asked for
    OverflowError,
    MemoryError,  # a header that says it is huge
)
Extract = Callable[[BinaryIO, str, Place], None]


def extractor_of(name: str) -> Extract | None:
    """How a file of this name is extracted into a place; None if it is no archive."""
    return next((extract for endings, extract in _KINDS if name.endswith(endings)), None)


def extract_archive(extract: Extract, path: str, name: str, place: Place) -> None:
    """Put what is in an archive into the place. Raises FetchError."""
    try:
        try:
            with open(path, "rb") as file:
                extract(file, name, place)
        finally:
            place.check_links()
    except _BROKEN as error:
        reason = "out of memory" if isinstance(error, MemoryError) else str(error) or type(error).__name__
        raise FetchError(f"cannot extract {name!r}: {reason}") from error


def _extract_tar(file: BinaryIO, name: str, place: Place) -> None:
    with tarfile.open(fileobj=file, mode="r|*") as tar:
        while (member := tar.next()) is not None:
            _extract_member(tar, member, place)
            tar.members = []  # type: ignore[attr-defined]  # a large archive has many


def _extract_member(tar: tarfile.TarFile, member: tarfile.TarInfo, place: Place) -> None:
    if member.isdir():
        place.make_directory(member.name, member.mode & 0o777)
    elif member.isreg():
        content = tar.extractfile(member)
        assert content is not None
        with place.create(member.name, member.mode & 0o777) as file:
            shutil.copyfileobj(content, file, _CHUNK)
            file.flush()
            with contextlib.suppress(OSError, OverflowError, ValueError):
                os.utime(file.fileno(), (member.mtime, member.mtime))
    elif member.issym():
        place.symlink(member.name, member.linkname)
    elif member.islnk():
        place.link(member.name, member.linkname)
    else:
        raise FetchError(f"{member.name!r} is neither a file nor a directory nor a link")


def _extract_zip(file: BinaryIO, name: str, place: Place) -> None:
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            mode = member.external_attr >> 16
            if member.is_dir():
                place.make_directory(member.filename)
                continue
            with archive.open(member) as content:
                if stat.S_ISLNK(mode):
                    place.symlink(member.filename, os.fsdecode(content.read(_LONGEST_TARGET)))
                    continue
                with place.create(member.filename, mode & 0o777 or 0o666) as out:
                    shutil.copyfileobj(content, out, _CHUNK)


def _extract_gzip(file: BinaryIO, name: str, place: Place) -> None:
    with gzip.open(file, "rb") as content, place.create(name.removesuffix(".gz")) as out:
        shutil.copyfileobj(content, out, _CHUNK)


_KINDS: tuple[tuple[tuple[str, ...], Extract], ...] = (
    ((".tar", ".tgz", ".tar.gz", ".tbz2", ".tar.bz2", ".txz", ".tar.xz"), _extract_tar),
    ((".zip",), _extract_zip),
    ((".gz",), _extract_gzip),
)
