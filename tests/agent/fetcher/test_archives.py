"""Archives: what is extracted, and that nothing leaves the sandbox."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tfmesos.agent.fetch_program.archives import extract_archive, extractor_of
from tfmesos.agent.fetch_program.errors import FetchError
from tfmesos.agent.fetch_program.places import Place


def _member(name: str, content: bytes = b"", kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size, info.mode = kind, target, len(content), 0o755
    return info


def _tar(*members: tuple[str, bytes, bytes, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content, kind, target in members:
            tar.addfile(_member(name, content, kind, target), io.BytesIO(content))
    return buffer.getvalue()


def _zip(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _zip_link(name: str, target: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        info = zipfile.ZipInfo(name)
        info.external_attr = 0o120777 << 16
        archive.writestr(info, target)
    return buffer.getvalue()


REG, DIR, SYM, LNK = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE


@pytest.fixture
def sandbox(tmp_path: Path) -> Path:
    path = tmp_path / "sandbox"
    path.mkdir()
    return path


def _extract(sandbox: Path, name: str, data: bytes) -> None:
    archive = sandbox.parent / "archive"
    archive.write_bytes(data)
    extract = extractor_of(name)
    assert extract is not None
    extract_archive(extract, str(archive), name, Place(str(sandbox)))


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.tar", bytes),
        ("a.tar.gz", gzip.compress),
        ("a.tgz", gzip.compress),
        ("a.tar.bz2", bz2.compress),
        ("a.tbz2", bz2.compress),
        ("a.tar.xz", lzma.compress),
        ("a.txz", lzma.compress),
    ],
)
def test_tar_in_every_wrapping(sandbox: Path, name: str, pack: Callable[[bytes], bytes]) -> None:
    folder, file, link = ("d", b"", DIR, ""), ("d/f", b"one", REG, ""), ("d/l", b"", SYM, "f")
    data = _tar(folder, file, link, ("h", b"", LNK, "d/f"), ("./", b"", DIR, ""))

    _extract(sandbox, name, pack(data))

    assert (sandbox / "d/f").read_bytes() == b"one"
    assert os.readlink(sandbox / "d/l") == "f"
    assert (sandbox / "h").stat().st_nlink == 2
    assert (sandbox / "d/f").stat().st_mode & 0o100


def test_zip_and_gzip(sandbox: Path) -> None:
    _extract(sandbox, "a.zip", _zip(**{"d/f": b"one", "g": b""}))
    _extract(sandbox, "x.txt.gz", gzip.compress(b"two"))
    _extract(sandbox, "b.zip", _zip_link("link", "d/f"))

    assert (sandbox / "d/f").read_bytes() == b"one"
    assert (sandbox / "x.txt").read_bytes() == b"two"
    assert os.readlink(sandbox / "link") == "d/f"


@pytest.mark.parametrize(
    "data",
    [
        _tar(("../out", b"x", REG, "")),
        _tar(("/tmp/out", b"x", REG, "")),
        _tar(("a/../../out", b"x", REG, "")),
        _tar(("l", b"", SYM, "/etc/passwd")),
        _tar(("l", b"", SYM, "..")),
        _tar(("l", b"", SYM, ".."), ("l/out", b"x", REG, "")),
        _tar(("a/b/l", b"", SYM, "../.."), ("m", b"", SYM, "a/b/l/..")),
        _tar(("h", b"", LNK, "../outside")),
        _tar(("h", b"", LNK, "/etc/passwd")),
        _tar(("l", b"", SYM, "."), ("h", b"", LNK, "l/l")),
        _tar(("dev", b"", tarfile.CHRTYPE, "")),
        _tar(("pipe", b"", tarfile.FIFOTYPE, "")),
    ],
)
def test_nothing_leaves_the_sandbox_by_tar(sandbox: Path, data: bytes) -> None:
    (sandbox.parent / "outside").write_text("secret")

    with pytest.raises(FetchError):
        _extract(sandbox, "a.tar", data)

    assert sorted(os.listdir(sandbox.parent)) == ["archive", "outside", "sandbox"]
    assert (sandbox.parent / "outside").stat().st_nlink == 1
    for path in sandbox.rglob("*"):
        assert path.resolve().is_relative_to(sandbox)


@pytest.mark.parametrize("data", [_zip(**{"../out": b"x"}), _zip(**{"/out": b"x"}), _zip_link("l", "../outside")])
def test_nothing_leaves_the_sandbox_by_zip(sandbox: Path, data: bytes) -> None:
    with pytest.raises(FetchError):
        _extract(sandbox, "a.zip", data)

    assert sorted(os.listdir(sandbox.parent)) == ["archive", "sandbox"]
    assert list(sandbox.rglob("*")) == []


def test_a_link_that_was_there_is_replaced_and_not_written_through(sandbox: Path) -> None:
    outside = sandbox.parent / "outside"
    outside.write_text("secret")
    (sandbox / "f").symlink_to(outside)

    _extract(sandbox, "a.tar", _tar(("f", b"new", REG, "")))

    assert outside.read_text() == "secret"
    assert (sandbox / "f").read_text() == "new"


HUGE_PAX = tarfile.TarInfo("x")
HUGE_PAX.type, HUGE_PAX.size = tarfile.XHDTYPE, 2**40


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.tar", b"no tar at all" * 100),
        ("a.tar", _tar(("f", b"x" * 5000, REG, ""))[:3000]),
        ("a.tar", HUGE_PAX.tobuf(tarfile.GNU_FORMAT)),
        ("a.tar.gz", gzip.compress(b"x" * 100)[:20]),
        ("a.tar.xz", b"\xfd7zXZ\0" + b"\0" * 100),
        ("a.zip", b"PK\x03\x04" + b"\0" * 100),
        ("a.gz", b"\x1f\x8b\x08" + b"\xff" * 100),
        ("a.tar", b""),
    ],
)
def test_broken_archives_are_one_line(sandbox: Path, name: str, data: bytes) -> None:
    with pytest.raises(FetchError, match=f"cannot extract '{name}': ."):
        _extract(sandbox, name, data)


@pytest.mark.parametrize("name", ["a.txt", "tar", "a.rar", "a.tar.zst"])
def test_other_files_are_no_archives(name: str) -> None:
    assert extractor_of(name) is None
