"""Putting images into a registry (OCI distribution-spec: pushing blobs monolithically, pushing manifests)."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from urllib.parse import urljoin
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from tests.images import Packed


def upload(
    url: str, repository: str, tag: str, packed: Packed, *, headers: Mapping[str, str], tls: ssl.SSLContext | None
) -> None:
    """All of it; the tag comes last."""
    opener = build_opener(HTTPRedirectHandler, *([] if tls is None else [HTTPSHandler(context=tls)]))

    def send(method: str, address: str, content: bytes = b"", media_type: str = "application/octet-stream") -> str:
        request = Request(address, content, {**headers, "Content-Type": media_type}, method=method)
        with opener.open(request, timeout=30) as answer:
            return urljoin(address, str(answer.headers.get("Location", "")))

    base = f"{url}/v2/{repository}"
    for blob in {blob.digest: blob for blob in packed.blobs}.values():
        place = send("POST", f"{base}/blobs/uploads/")
        send("PUT", f"{place}{'&' if '?' in place else '?'}digest={blob.digest}", blob.content)
    for manifest in packed.manifests:
        send("PUT", f"{base}/manifests/{manifest.digest}", manifest.content, manifest.media_type)
    send("PUT", f"{base}/manifests/{tag}", packed.top.content, packed.top.media_type)
