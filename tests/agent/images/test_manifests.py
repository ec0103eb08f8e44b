"""Manifests, and the choice among them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tfmesos.agent.images.manifests import Entry, Index, Manifest, Platform, UnusableImage, parse_manifest

_OCI = "application/vnd.oci.image"
_DIGEST = "sha256:" + "0" * 64


def _entry(architecture: str, variant: str | None = None, os: str = "linux", number: int = 0) -> Entry:
    return Entry(f"sha256:{number:064x}", Platform(architecture, variant, os), {})


def _manifest(*layers: tuple[str, int], config: str = f"{_OCI}.config.v1+json") -> bytes:
    items = [{"mediaType": media_type, "size": size, "digest": _DIGEST} for media_type, size in layers]
    content: dict[str, Any] = {"schemaVersion": 2, "config": {"mediaType": config}, "layers": items}
    return json.dumps(content).encode()


@pytest.mark.parametrize(
    ("machine", "chosen"),
    [("x86_64", 1), ("aarch64", 2), ("armv7l", 4), ("armv6l", 3)],
)
def test_the_entry_for_the_machine_is_chosen(machine: str, chosen: int) -> None:
    index = Index(
        (
            _entry("amd64", os="windows"),
            _entry("amd64", number=1),
            _entry("arm64", "v8", number=2),
            _entry("arm", "v6", number=3),
            _entry("arm", "v7", number=4),
            _entry("unknown", os="unknown"),
        )
    )
    assert index.choose(Platform.of_machine(machine)) == index.entries[chosen]


def test_another_variant_is_better_than_nothing() -> None:
    index = Index((_entry("arm64"),))
    assert index.choose(Platform.of_machine("aarch64")) == index.entries[0]


def test_what_there_is_is_told_if_nothing_fits() -> None:
    index = Index((_entry("unknown", os="unknown"), _entry("arm", "v7"), _entry("s390x")))
    with pytest.raises(UnusableImage, match=r"nothing for linux/amd64, only for linux/arm/v7, linux/s390x$"):
        index.choose(Platform.of_machine("x86_64"))


def test_sizes_are_those_of_the_layers_and_a_guess() -> None:
    manifest = parse_manifest(_manifest((f"{_OCI}.layer.v1.tar+zstd", 100), (f"{_OCI}.layer.v1.tar", 10)))
    assert isinstance(manifest, Manifest)
    assert (manifest.size, manifest.unpacked_size) == (110, 310)


def test_a_size_that_no_layer_has_is_none() -> None:
    manifest = parse_manifest(_manifest((f"{_OCI}.layer.v1.tar", 10**4000)))
    assert isinstance(manifest, Manifest)
    assert manifest.size == 0


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"<html>", "not JSON"),
        (b"[]", "not JSON"),
        (b'{"manifests":' * 100_000, "not JSON"),
        (b"{}", "unknown kind"),
        (b'{"schemaVersion":1,"fsLayers":[]}', "schema 1"),
        (_manifest(config="application/vnd.cncf.helm.config.v1+json"), "no image of a container: .*helm"),
        (_manifest((f"{_OCI}.layer.v1.tar+gzip+encrypted", 1)), "unsupported type: .*encrypted"),
        (b'{"manifests":[{"digest":"../../etc"}]}', "no digest but '../../etc'"),
        (b'{"manifests":[{}, "x"]}', "unknown kind"),
    ],
)
def test_what_cannot_be_used_is_named(content: bytes, reason: str) -> None:
    with pytest.raises(UnusableImage, match=reason):
        parse_manifest(content)
