"""Images from a directory of archives (I18)."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.agent.images.store_of import greeting, image_of, images_of, is_clean
from tests.images import Compression, File, Form, Image, layers_of, oci_archive, saved_archive, saved_v1_archive
from tfmesos.agent.images import ImageError, ImageRoot

pytestmark = [pytest.mark.root]


def _image(content: bytes = b"hello\n") -> Image:
    return Image(layers=layers_of({"etc/greeting": File(content=content)}, {"etc/more": File()}), environment=("A=1",))


async def _provide(folder: Path, name: str) -> ImageRoot:
    async with images_of(folder, docker_registry=str(folder / "archives")) as images:
        return await images.provide(image_of(name), holder="c1")


@pytest.mark.parametrize("save", [saved_v1_archive, saved_archive, oci_archive])
async def test_archives_of_every_kind_are_images(tmp_path: Path, save: Any) -> None:
    save(tmp_path / "archives/repo/img:tag.tar", _image(), "repo/img:tag")
    root = await _provide(tmp_path, "repo/img:tag")
    assert greeting(root) == b"hello\n"
    assert root.runtime.environment == ("A=1",)
    assert is_clean(tmp_path)


@pytest.mark.parametrize(
    ("form", "compression"), [("docker", "gzip"), ("docker-list", "gzip"), ("oci-index", "zstd"), ("oci", "none")]
)
async def test_an_oci_archive_may_have_an_index_and_any_layers(
    tmp_path: Path, form: Form, compression: Compression
) -> None:
    oci_archive(tmp_path / "archives/img.tar", _image(), None, form=form, compression=compression)
    assert greeting(await _provide(tmp_path, "img")) == b"hello\n"


async def test_of_several_images_in_an_archive_it_is_the_one_of_that_name(tmp_path: Path) -> None:
    one = saved_v1_archive(tmp_path / "one.tar", _image(b"one"), "many:one")
    two = saved_v1_archive(tmp_path / "two.tar", _image(b"two"), "docker.io/library/many:two")
    for name in ("many:two", "many:three"):
        _join(tmp_path / f"archives/{name}.tar", one, two)
    assert greeting(await _provide(tmp_path, "many:two")) == b"two"
    with pytest.raises(ImageError, match="has 2 images, and none of that name"):
        await _provide(tmp_path, "many:three")


async def test_a_missing_archive_is_named_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "archives/repo/img:tag.tar"
    with pytest.raises(ImageError, match=f"Failed to find archive for image 'repo/img:tag' at '{path}'"):
        await _provide(tmp_path, "repo/img:tag")


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", r"is no tar file.*: [^\n]*\Z"), (b"x" * 2000, "is no tar file"), (None, "has neither manifest.json")],
)
async def test_what_is_no_archive_of_images_is_said(tmp_path: Path, content: bytes | None, reason: str) -> None:
    path = tmp_path / "archives/img.tar"
    if content is None:
        _join(path)
    else:
        path.parent.mkdir()
        path.write_bytes(content)
    with pytest.raises(ImageError, match=reason):
        await _provide(tmp_path, "img")
    assert is_clean(tmp_path)


async def test_nothing_comes_out_of_an_archive_but_a_layout(tmp_path: Path) -> None:
    # Given an OCI archive with a link to the host and a file that goes through it
    path = oci_archive(tmp_path / "archives/img.tar", _image(), None)
    with tarfile.open(path, "a") as archive:
        link = tarfile.TarInfo("blobs/evil")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
        archive.addfile(link)
        for name in ("blobs/evil/escaped", "../../escaped", f"{tmp_path}/escaped"):
            info = tarfile.TarInfo(name)
            info.size = 1
            archive.addfile(info, io.BytesIO(b"x"))
    # Then the image is there and nothing else
    assert greeting(await _provide(tmp_path, "img")) == b"hello\n"
    assert not _escaped(tmp_path)


def _escaped(folder: Path) -> list[Path]:
    return list(folder.rglob("*escaped*"))


def _join(path: Path, *archives: Path) -> None:
    """One archive with the images of several, as `docker save` makes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    manifests: list[object] = []
    with tarfile.open(path, "w") as joined:
        for archive in archives:
            with tarfile.open(archive) as part:
                for member in part:
                    file = part.extractfile(member)
                    assert file is not None
                    if member.name == "manifest.json":
                        manifests += json.load(file)
                    elif member.name != "repositories":
                        joined.addfile(member, file)
        if manifests:
            content = json.dumps(manifests).encode()
            info = tarfile.TarInfo("manifest.json")
            info.size = len(content)
            joined.addfile(info, io.BytesIO(content))
