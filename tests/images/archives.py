"""Archives: both styles of `docker save`, and OCI's."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

from tests.images.image import Image
from tests.images.layers import Compression
from tests.images.packed import Form, Packed, pack


def saved_v1_archive(path: Path, image: Image, reference: str) -> Path:
    """As `docker save` wrote it before 25: `repositories`, `manifest.json`, a directory for each layer."""
    repository, _, tag = reference.rpartition(":")
    config = image.config()
    config_name = f"{pack(image).blobs[0].digest.removeprefix('sha256:')}.json"
    files: dict[str, bytes] = {config_name: config}
    names = []
    for index, layer in enumerate(image.layers):
        folder = image.v1_id(index)
        names.append(f"{folder}/layer.tar")
        files |= {
            f"{folder}/VERSION": b"1.0",
            f"{folder}/json": _json(image.v1(index)),
            f"{folder}/layer.tar": layer.tar,
        }
    files["manifest.json"] = _json([{"Config": config_name, "RepoTags": [reference], "Layers": names}])
    files["repositories"] = _json({repository: {tag: image.v1_id(len(image.layers) - 1)}})
    return _write(path, files)


def saved_archive(path: Path, image: Image, reference: str) -> Path:
    """As `docker save` writes it since 25: an OCI layout with uncompressed layers, and `manifest.json` beside."""
    packed = pack(image, "oci", compression="none")
    config, *layers = (blob.digest.replace(":", "/") for blob in packed.blobs)
    files = _layout(packed, reference)
    files["manifest.json"] = _json(
        [{"Config": f"blobs/{config}", "RepoTags": [reference], "Layers": [f"blobs/{layer}" for layer in layers]}]
    )
    return _write(path, files)


def oci_archive(
    path: Path,
    image: Image,
    reference: str | None = None,
    *,
    form: Form = "oci",
    compression: Compression = "gzip",
) -> Path:
    """An OCI layout in a tar file, as `skopeo copy … oci-archive:` and `docker buildx --output type=oci` write it."""
    return _write(path, _layout(pack(image, form, compression=compression), reference))


def _layout(packed: Packed, reference: str | None) -> dict[str, bytes]:
    annotations = {} if reference is None else {"org.opencontainers.image.ref.name": reference.rpartition(":")[2]}
    if reference is not None:
        annotations["io.containerd.image.name"] = reference
    files = {
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        "index.json": _json(
            {
                "schemaVersion": 2,
                "mediaType": "application/vnd.oci.image.index.v1+json",
                "manifests": [packed.top.descriptor(annotations=annotations)],
            }
        ),
    }
    for blob in (*packed.blobs, *packed.manifests):
        files[f"blobs/{blob.digest.replace(':', '/')}"] = blob.content
    return files


def _json(content: object) -> bytes:
    return json.dumps(content).encode()


def _write(path: Path, files: Mapping[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o644
            tar.addfile(member, io.BytesIO(content))
    return path
