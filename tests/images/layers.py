"""Layers: tar files, perhaps compressed."""

from __future__ import annotations

import gzip
import io
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Literal

from tests.images.content import Directory, Entry, member

Compression = Literal["none", "gzip", "zstd"]


def digest_of(content: bytes) -> str:
    """`sha256:` and 64 digits."""
    return f"sha256:{sha256(content).hexdigest()}"


@dataclass(frozen=True)
class Layer:
    """One tar file, uncompressed."""

    tar: bytes

    @staticmethod
    def of(entries: Mapping[str, Entry]) -> Layer:
        """Path → what is there."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for path, entry in _with_parents(entries).items():
                tar.addfile(*member(path, entry))
        return Layer(buffer.getvalue())

    @cached_property
    def diff_id(self) -> str:
        """The digest of the uncompressed tar file."""
        return digest_of(self.tar)

    def compressed(self, compression: Compression) -> bytes:
        """The blob that travels."""
        return _compress(self, compression)


def _with_parents(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    whole: dict[str, Entry] = {}
    for path, entry in entries.items():
        for parent in reversed(PurePosixPath(path.strip("/")).parents[:-1]):
            whole.setdefault(str(parent), Directory())
        whole[path.strip("/")] = entry
    return whole


_COMPRESSED: dict[tuple[str, Compression], bytes] = {}
"""Layers are shared by many images, and compressing is what takes the time."""


def _compress(layer: Layer, compression: Compression) -> bytes:
    if compression == "none":
        return layer.tar
    key = (layer.diff_id, compression)
    if key not in _COMPRESSED:
        _COMPRESSED[key] = gzip.compress(layer.tar, 1, mtime=0) if compression == "gzip" else _zstd(layer.tar)
    return _COMPRESSED[key]


def _zstd(content: bytes) -> bytes:
    return subprocess.run(["zstd", "-1", "-q", "-c"], input=content, capture_output=True, check=True).stdout
