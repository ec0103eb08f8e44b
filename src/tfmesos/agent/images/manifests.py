"""Manifests: what an image is made of, and which of several is for this machine. Pure.

Docker's image manifest of schema 2 and its manifest list, OCI's image manifest and image index.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tfmesos.agent.images.reference import is_digest

MAX_DEPTH = 4
"""Indexes within indexes."""
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
_OCI_LAYER = "application/vnd.oci.image.layer.v1."
_CONFIGS = ("application/vnd.docker.container.image.v1+json", _OCI_CONFIG)
_LAYER_ENDINGS = ("tar", "tar+gzip", "tar.gzip", "tar+zstd", "tar.zstd")
_ARCHITECTURES = {
    "x86_64": ("amd64", None),
    "aarch64": ("arm64", "v8"),
    "armv7l": ("arm", "v7"),
    "armv6l": ("arm", "v6"),
    "i686": ("386", None),
}
"""`uname -m` → Go's name, and variant."""
_MAX_SIZE = 2**63 - 1
_COMPRESSION_RATE = 3
"""Layers of Debian's and Python's images unpack to 2.5 to 3 times their size."""


class UnusableImage(ValueError):
    """This image cannot be used here; why."""


@dataclass(frozen=True, slots=True)
class Platform:
    """By Go's names."""

    architecture: str
    variant: str | None = None
    os: str = "linux"

    def __str__(self) -> str:
        return "/".join(part for part in (self.os, self.architecture, self.variant) if part)

    @classmethod
    def of_machine(cls, machine: str) -> Platform:
        """`machine`: as `uname -m` tells it."""
        return cls(*_ARCHITECTURES.get(machine, (machine, None)))


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer as it travels."""

    media_type: str
    size: int

    @property
    def is_zstd(self) -> bool:
        return self.media_type.endswith("zstd")

    @property
    def is_compressed(self) -> bool:
        return not self.media_type.endswith("tar")


@dataclass(frozen=True, slots=True)
class Manifest:
    """Of one image."""

    layers: tuple[Layer, ...]

    @property
    def size(self) -> int:
        """Bytes that travel."""
        return sum(layer.size for layer in self.layers)

    @property
    def unpacked_size(self) -> int:
        """Bytes, guessed."""
        return sum(layer.size * (_COMPRESSION_RATE if layer.is_compressed else 1) for layer in self.layers)


@dataclass(frozen=True, slots=True)
class Entry:
    """A manifest in an index."""

    digest: str
    platform: Platform | None
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Index:
    """Manifests to choose from."""

    entries: tuple[Entry, ...]

    def choose(self, wanted: Platform) -> Entry:
        """The one for a platform; of several with other variants the first. Raises UnusableImage."""
        fitting = [entry for entry in self.entries if entry.platform is None or _fits(entry.platform, wanted)]
        if not fitting:
            others = sorted({str(entry.platform) for entry in self.entries if entry.platform is not None})
            there = [name for name in others if "unknown" not in name]
            raise UnusableImage(f"it has nothing for {wanted}, only for {', '.join(there) or 'no platform'}")
        return next((entry for entry in fitting if entry.platform == wanted), fitting[0])


def parse_manifest(content: bytes) -> Manifest | Index:
    """Raises UnusableImage."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise UnusableImage("its manifest is not JSON")
    if value.get("schemaVersion") == 1:
        raise UnusableImage(
            "its manifest is of schema 1, which is not supported; push it again with Docker 1.10 or later"
        )
    if isinstance(value.get("manifests"), list):
        return Index(tuple(_entry(item) for item in _objects(value["manifests"])))
    if isinstance(value.get("layers"), list) and isinstance(value.get("config"), dict):
        return _manifest(value["config"], value["layers"])
    raise UnusableImage("its manifest is of an unknown kind")


def digests_of(content: bytes) -> tuple[str, ...]:
    """Of the configuration and the layers of a manifest, each once. Raises UnusableImage."""
    value = json.loads(content)
    digests = dict.fromkeys(str(item.get("digest")) for item in (value["config"], *value["layers"]))
    if not all(map(is_digest, digests)):
        raise UnusableImage(f"its manifest has no digests but {', '.join(digests)}")
    return tuple(digests)


def to_oci(content: bytes, *, is_gzip: Callable[[str], bool] | None = None) -> bytes:
    """A manifest as OCI has it: Docker's of schema 2 differs in its types only.

    `is_gzip` tells it of the layer with a digest, all others are not compressed; without it the manifest is believed.
    """
    value = json.loads(content)
    for layer in value["layers"]:
        if is_gzip is None:
            layer["mediaType"] = _oci_layer_type(layer["mediaType"])
        else:
            layer["mediaType"] = f"{_OCI_LAYER}tar{'+gzip' if is_gzip(layer['digest']) else ''}"
    value["config"]["mediaType"] = _OCI_CONFIG
    return json.dumps({**value, "mediaType": OCI_MANIFEST}).encode()


def _oci_layer_type(media_type: str) -> str:
    if media_type.startswith(_OCI_LAYER):
        return media_type
    return _OCI_LAYER + "tar" + media_type.rpartition("tar")[2].replace(".", "+")


def _manifest(config: Mapping[str, object], layers: Sequence[object]) -> Manifest:
    if config.get("mediaType") not in _CONFIGS:
        raise UnusableImage(f"it is no image of a container: its config is {config.get('mediaType')}")
    return Manifest(tuple(_layer(item) for item in _objects(layers)))


def _layer(item: Mapping[str, object]) -> Layer:
    media_type, size = str(item.get("mediaType")), item.get("size")
    if not media_type.endswith(_LAYER_ENDINGS):
        raise UnusableImage(f"a layer is of an unsupported type: {media_type}")
    return Layer(media_type, size if isinstance(size, int) and 0 <= size <= _MAX_SIZE else 0)


def _entry(item: Mapping[str, object]) -> Entry:
    digest, platform, annotations = str(item.get("digest")), item.get("platform"), item.get("annotations")
    if not is_digest(digest):
        raise UnusableImage(f"its index has no digest but {digest!r}")
    return Entry(
        digest,
        _platform(platform) if isinstance(platform, dict) else None,
        {name: str(value) for name, value in annotations.items()} if isinstance(annotations, dict) else {},
    )


def _platform(value: Mapping[str, object]) -> Platform:
    variant = value.get("variant")
    return Platform(str(value.get("architecture")), str(variant) if variant else None, str(value.get("os")))


def _fits(found: Platform, wanted: Platform) -> bool:
    return (found.os, found.architecture) == (wanted.os, wanted.architecture)


def _objects(items: Sequence[object]) -> Sequence[Mapping[str, object]]:
    """Raises UnusableImage if something else is among them."""
    found = [item for item in items if isinstance(item, dict)]
    if len(found) != len(items):
        raise UnusableImage("its manifest is of an unknown kind")
    return found
