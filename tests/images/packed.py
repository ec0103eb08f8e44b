"""An image as registries have it: blobs and manifests by digest."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tests.images.image import Image
from tests.images.layers import Compression, digest_of

Form = Literal["docker", "docker-list", "oci", "oci-index"]
"""Docker's schema 2, its manifest list, an OCI manifest, an OCI index.

A list and an index have a manifest for arm64 first, whose only layer no machine could unpack; an index has an
attestation for each platform, too, as `docker buildx` adds them (platform unknown/unknown).
"""

_DOCKER = "application/vnd.docker"
_OCI = "application/vnd.oci.image"
_MEDIA_TYPES = {
    "docker": f"{_DOCKER}.distribution.manifest.v2+json",
    "docker-list": f"{_DOCKER}.distribution.manifest.list.v2+json",
    "oci": f"{_OCI}.manifest.v1+json",
    "oci-index": f"{_OCI}.index.v1+json",
}
_LAYER_TYPES: dict[tuple[bool, Compression], str] = {
    (False, "none"): f"{_DOCKER}.image.rootfs.diff.tar",
    (False, "gzip"): f"{_DOCKER}.image.rootfs.diff.tar.gzip",
    (True, "none"): f"{_OCI}.layer.v1.tar",
    (True, "gzip"): f"{_OCI}.layer.v1.tar+gzip",
    (True, "zstd"): f"{_OCI}.layer.v1.tar+zstd",
}


@dataclass(frozen=True, kw_only=True)
class Blob:
    """Bytes with their type."""

    media_type: str
    content: bytes

    @property
    def digest(self) -> str:
        return digest_of(self.content)

    def descriptor(self, **more: object) -> dict[str, Any]:
        """How a manifest names it."""
        return {"mediaType": self.media_type, "size": len(self.content), "digest": self.digest, **more}


@dataclass(frozen=True, kw_only=True)
class Packed:
    """All of an image; the last manifest is what its tag means."""

    blobs: tuple[Blob, ...]
    manifests: tuple[Blob, ...]

    @property
    def top(self) -> Blob:
        return self.manifests[-1]

    @property
    def digest(self) -> str:
        """What `repository@digest` takes."""
        return self.top.digest


def pack(image: Image, form: Form = "docker", *, compression: Compression = "gzip") -> Packed:
    """Docker has no zstd."""
    if form in ("docker", "oci"):
        return _pack_one(image, form, compression)
    inner: Form = "docker" if form == "docker-list" else "oci"
    mine = _pack_one(image, inner, compression)
    other = _pack_other(image, inner)
    parts = [other, mine]
    entries = [
        part.top.descriptor(platform=_platform(name)) for part, name in zip(parts, ("arm64", "amd64"), strict=True)
    ]
    if form == "oci-index":
        attestations = [_attestation(part) for part in parts]
        entries += [
            attestation.top.descriptor(
                platform={"architecture": "unknown", "os": "unknown"},
                annotations={
                    "vnd.docker.reference.digest": part.digest,
                    "vnd.docker.reference.type": "attestation-manifest",
                },
            )
            for part, attestation in zip(parts, attestations, strict=True)
        ]
        parts += attestations
    content = {"schemaVersion": 2, "mediaType": _MEDIA_TYPES[form], "manifests": entries}
    return _joined(parts, _json_blob(_MEDIA_TYPES[form], content))


def _pack_one(image: Image, form: Form, compression: Compression) -> Packed:
    is_oci = form == "oci"
    config = Blob(
        media_type=f"{_OCI}.config.v1+json" if is_oci else f"{_DOCKER}.container.image.v1+json", content=image.config()
    )
    media_type = _LAYER_TYPES[is_oci, compression]
    layers = [Blob(media_type=media_type, content=layer.compressed(compression)) for layer in image.layers]
    return _manifest(form, config, layers)


def _manifest(form: Form, config: Blob, layers: Sequence[Blob]) -> Packed:
    content = {
        "schemaVersion": 2,
        "mediaType": _MEDIA_TYPES[form],
        "config": config.descriptor(),
        "layers": [layer.descriptor() for layer in layers],
    }
    return Packed(blobs=(config, *layers), manifests=(_json_blob(_MEDIA_TYPES[form], content),))


def _pack_other(image: Image, form: Form) -> Packed:
    config = Blob(
        media_type=f"{_OCI}.config.v1+json" if form == "oci" else f"{_DOCKER}.container.image.v1+json",
        content=replace(image, architecture="arm64").config(),
    )
    layer = Blob(media_type=_LAYER_TYPES[form == "oci", "gzip"], content=b"for another machine")
    return _manifest(form, config, [layer])


def _attestation(of: Packed) -> Packed:
    config = _json_blob(f"{_OCI}.config.v1+json", {"architecture": "unknown", "os": "unknown", "config": {}})
    statement = _json_blob("application/vnd.in-toto+json", {"subject": [{"digest": of.digest}]})
    return _manifest("oci", config, [statement])


def _platform(architecture: str) -> dict[str, str]:
    return {"architecture": architecture, "os": "linux"}


def _json_blob(media_type: str, content: object) -> Blob:
    return Blob(media_type=media_type, content=json.dumps(content, indent=2).encode())


def _joined(parts: Sequence[Packed], top: Blob) -> Packed:
    return Packed(
        blobs=tuple(blob for part in parts for blob in part.blobs),
        manifests=(*(manifest for part in parts for manifest in part.manifests), top),
    )
