"""OCI layouts (image-spec: image-layout.md): those of archives, and those that umoci unpacks.

<layout>/
  index.json                   what is at the top
  blobs/<algorithm>/<digest>   manifests, configurations, layers
"""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path

from tfmesos.agent.images.manifests import (
    MAX_DEPTH,
    OCI_MANIFEST,
    Index,
    Manifest,
    Platform,
    UnusableImage,
    digests_of,
    parse_manifest,
    to_oci,
)

NAME = "image"
"""Of what is at the top of a layout that was made here."""
_MAX_JSON = 8 * 1024**2
_GZIP = b"\x1f\x8b"


class Layout:
    """Reads and writes files."""

    def __init__(self, path: str) -> None:
        self.path = path

    @classmethod
    def of_copy(cls, directory: str, path: str) -> Layout:
        """Of what skopeo has written by its transport `dir:`, which is taken from there.

        Which layers are gzip is told from themselves: skopeo takes those of all archives for it, which umoci believes.
        """
        made = cls(path)
        content = Path(f"{directory}/manifest.json").read_bytes()
        for digest in digests_of(content):
            os.makedirs(os.path.dirname(made._blob_path(digest)), exist_ok=True)
            os.rename(f"{directory}/{digest.partition(':')[2]}", made._blob_path(digest))
        made.write_top(to_oci(content, is_gzip=made._is_gzip))
        return made

    def top(self) -> Index:
        """What its index.json says."""
        found = parse_manifest(Path(f"{self.path}/index.json").read_bytes())
        if not isinstance(found, Index):
            raise UnusableImage("its index.json is no index")
        return found

    def manifest(self, index: Index, platform: Platform) -> bytes:
        """The content of the one for a platform."""
        for _ in range(MAX_DEPTH):
            content = self.blob(index.choose(platform).digest)
            found = parse_manifest(content)
            if isinstance(found, Manifest):
                return content
            index = found
        raise UnusableImage(f"its indexes are nested deeper than {MAX_DEPTH}")

    def blob(self, digest: str) -> bytes:
        """Of what is no layer."""
        try:
            with open(self._blob_path(digest), "rb") as file:
                return file.read(_MAX_JSON)
        except FileNotFoundError:
            raise UnusableImage(f"it lacks {digest}") from None

    def write_top(self, content: bytes) -> None:
        """Have this manifest of OCI's at the top, by NAME, and no other."""
        digest = f"sha256:{sha256(content).hexdigest()}"
        os.makedirs(os.path.dirname(self._blob_path(digest)), exist_ok=True)
        Path(self._blob_path(digest)).write_bytes(content)
        entry = {
            "mediaType": OCI_MANIFEST,
            "digest": digest,
            "size": len(content),
            "annotations": {"org.opencontainers.image.ref.name": NAME},
        }
        Path(f"{self.path}/index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [entry]}))
        Path(f"{self.path}/oci-layout").write_text(json.dumps({"imageLayoutVersion": "1.0.0"}))

    def config(self) -> bytes:
        """The configuration of the image at the top, where there is one only."""
        manifest = self.blob(self.top().entries[0].digest)
        return self.blob(digests_of(manifest)[0])

    def _is_gzip(self, digest: str) -> bool:
        with open(self._blob_path(digest), "rb") as file:
            return file.read(len(_GZIP)) == _GZIP

    def _blob_path(self, digest: str) -> str:
        return f"{self.path}/blobs/{digest.replace(':', '/')}"
