"""The images of tests are what Debian's own tools take for images."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.images import (
    Compression,
    File,
    Form,
    Image,
    Opaque,
    Whiteout,
    busybox_image,
    layers_of,
    oci_archive,
    saved_archive,
    saved_v1_archive,
)


def _skopeo(*arguments: str) -> str:
    return subprocess.run(["skopeo", *arguments], check=True, capture_output=True, text=True).stdout


def _inspected(source: str) -> dict[str, object]:
    answer: dict[str, object] = json.loads(_skopeo("inspect", "--config", source))
    return answer


@pytest.mark.parametrize(
    ("form", "compression"),
    [("oci", "gzip"), ("oci", "none"), ("oci", "zstd"), ("oci-index", "gzip"), ("oci-index", "zstd")],
)
def test_skopeo_reads_oci_archives(tmp_path: Path, form: Form, compression: Compression) -> None:
    # Given an image as an OCI archive
    image = busybox_image(entrypoint=["/bin/echo"], labels={"a": "b"}, user="nobody", working_directory="/tmp")
    archive = oci_archive(tmp_path / "image.tar", image, "it:1", form=form, compression=compression)
    # When skopeo copies it, with every digest checked
    _skopeo("copy", "--override-arch=amd64", f"oci-archive:{archive}:1", f"oci:{tmp_path}/layout:it")
    # Then it is the image
    assert _inspected(f"oci:{tmp_path}/layout:it")["config"] == {
        "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
        "Entrypoint": ["/bin/echo"],
        "Cmd": ["sh"],
        "Labels": {"a": "b"},
        "User": "nobody",
        "WorkingDir": "/tmp",
    }


@pytest.mark.parametrize("save", [saved_v1_archive, saved_archive], ids=["v1", "oci"])
def test_skopeo_reads_docker_archives(tmp_path: Path, save: Callable[[Path, Image, str], Path]) -> None:
    image = busybox_image({"greeting": File(content=b"hello")})
    archive = save(tmp_path / "image.tar", image, "repo/it:1")
    _skopeo("copy", f"docker-archive:{archive}:repo/it:1", f"oci:{tmp_path}/layout:it")
    assert _inspected(f"oci:{tmp_path}/layout:it")["rootfs"] == {
        "type": "layers",
        "diff_ids": [layer.diff_id for layer in image.layers],
    }


def test_layers_hide_what_is_beneath(tmp_path: Path) -> None:
    # Given two layers, of which the upper ones take away
    image = Image(
        layers=layers_of(
            {"a/one": File(content=b"1"), "a/two": File(content=b"2"), "b/three": File(content=b"3")},
            {"a/one": Whiteout(), "b": Opaque(), "b/four": File(content=b"4", mode=0o600, uid=7, gid=8)},
        )
    )
    archive = oci_archive(tmp_path / "image.tar", image, "it:1")
    # When umoci unpacks them
    _skopeo("copy", f"oci-archive:{archive}:1", f"oci:{tmp_path}/layout:it")
    subprocess.run(
        ["umoci", "raw", "unpack", f"--image={tmp_path}/layout:it", tmp_path / "tree"], check=True, capture_output=True
    )
    # Then only what is left is there
    tree = tmp_path / "tree"
    assert sorted(str(path.relative_to(tree)) for path in tree.rglob("*")) == ["a", "a/two", "b", "b/four"]
    status = (tree / "b" / "four").stat()
    assert (status.st_mode & 0o777, status.st_uid, status.st_gid) == (0o600, 7, 8)
