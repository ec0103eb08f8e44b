"""Files under virtual paths: nothing outside of what is attached, whatever is put there."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tfmesos.endpoints import Attached, FileRefused, VirtualFiles


class OneFolder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, path: str) -> Attached | None:
        return Attached(str(self._folder), path.removeprefix("/box").strip("/")) if path.startswith("/box") else None

    def all(self) -> dict[str, str]:
        return {"/box": str(self._folder)}


@pytest.fixture
def box(tmp_path: Path) -> Path:
    folder = tmp_path / "box"
    folder.mkdir()
    (folder / "stdout").write_bytes(b"0123456789")
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "box-2").mkdir()
    (tmp_path / "box-2" / "other").write_bytes(b"other")
    return folder


@pytest.fixture
def files(box: Path) -> VirtualFiles:
    return VirtualFiles(OneFolder(box))


def status_of(files: VirtualFiles, path: str) -> int:
    with pytest.raises(FileRefused) as refused:
        files.read(path, 0, None)
    return refused.value.status


def test_pieces_of_a_file(files: VirtualFiles) -> None:
    assert files.read("/box/stdout", 2, 3) == (10, b"234")
    assert files.read("/box/stdout", None, None) == (10, b"")
    assert files.read("/box/stdout", 10, 5) == (10, b"")


def test_a_folder_is_listed_in_order_and_a_file_has_no_entries(files: VirtualFiles, box: Path) -> None:
    (box / "b").mkdir()
    os.symlink("/nowhere", box / "a")
    assert [entry.path for entry in files.list("/box/")] == ["/box/a", "/box/b", "/box/stdout"]
    assert files.list("/box/stdout") == []
    assert [entry.to_json()["mode"] for entry in files.list("/box")][:2] == ["lrwxrwxrwx", "drwxr-xr-x"]


@pytest.mark.parametrize("path", ["/box/../secret", "/box/link", "/box/up/secret", "/box/../box-2/other"])
def test_nothing_outside_is_read(files: VirtualFiles, box: Path, path: str) -> None:
    os.symlink("../secret", box / "link")
    os.symlink("..", box / "up")
    assert status_of(files, path) == 400


def test_a_link_that_is_put_there_between_look_and_open_is_not_followed(
    files: VirtualFiles, box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory on the way turns into a link after the path was resolved."""
    (box / "dir").mkdir()
    (box / "dir" / "secret").write_bytes(b"mine")
    really_open = os.open

    def swapped(path: str, flags: int, *rest: int) -> int:
        if path.endswith("dir/secret"):
            os.rename(box / "dir", box / "moved")
            os.symlink("..", box / "dir")
        return really_open(path, flags, *rest)

    monkeypatch.setattr(os, "open", swapped)
    assert status_of(files, "/box/dir/secret") == 400


def test_pipes_and_sockets_make_nobody_wait(files: VirtualFiles, box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(box / "pipe")
    monkeypatch.chdir(box)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        assert status_of(files, "/box/socket") == 400
    assert status_of(files, "/box/pipe") == 400


@pytest.mark.parametrize("path", ["", "/", "/boxes", "/box/nothing", "/box/stdout/x", "/box/" + "x" * 5000, "/box/\0"])
def test_what_is_not_there_is_not_found(files: VirtualFiles, path: str) -> None:
    assert status_of(files, path) in (404, 400)


def test_names_that_are_no_text_are_shown(files: VirtualFiles, box: Path) -> None:
    (box / os.fsdecode(b"caf\xe9")).write_bytes(b"")
    entry = files.list("/box")[0]
    assert entry.path == "/box/caf\ufffd"
    assert entry.to_proto().path == entry.path
