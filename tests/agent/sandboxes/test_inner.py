"""What the agent makes in sandboxes, where others may have put links and files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tfmesos.agent.sandboxes.inner import Base, make_inner_directory, make_inner_file, make_inner_link

Make = Callable[[Base, str], None]
MAKERS: list[Make] = [
    make_inner_directory,
    make_inner_file,
    lambda base, path: make_inner_link(base, path, "/elsewhere"),
]


@pytest.fixture
def sandbox(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    path = tmp_path / "sandbox"
    path.mkdir()
    return path


@pytest.mark.parametrize("make", MAKERS)
def test_what_is_there_stays_and_what_is_missing_is_made(sandbox: Path, make: Make) -> None:
    for _ in range(2):
        make(Base(path=str(sandbox)), "a/./b//c")

    assert os.path.lexists(sandbox / "a/b/c")


def test_the_content_of_a_file_stays(sandbox: Path) -> None:
    (sandbox / "file").write_text("mine")

    make_inner_file(Base(path=str(sandbox)), "file")

    assert (sandbox / "file").read_text() == "mine"


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("path", ["../outside/x", "/etc/x", "a/../../outside/x", "", "."])
def test_no_path_leads_out(sandbox: Path, make: Make, path: str) -> None:
    with pytest.raises(OSError, match="leads out of the sandbox"):
        make(Base(path=str(sandbox)), path)

    assert not any((sandbox.parent / "outside").iterdir())
    assert not any(sandbox.iterdir())


@pytest.mark.parametrize("make", MAKERS)
def test_no_link_is_followed(sandbox: Path, make: Make) -> None:
    (sandbox / "link").symlink_to(sandbox.parent / "outside")

    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        make(Base(path=str(sandbox)), "link/x")

    assert not any((sandbox.parent / "outside").iterdir())


@pytest.mark.parametrize("make", MAKERS[:2])
def test_a_link_is_neither_a_directory_nor_a_file(sandbox: Path, make: Make) -> None:
    (sandbox / "link").symlink_to(sandbox.parent / "outside/new")

    with pytest.raises(OSError, match=r"Not a directory|File exists|Too many levels"):
        make(Base(path=str(sandbox)), "link")

    assert not any((sandbox.parent / "outside").iterdir())


def test_a_link_takes_the_place_of_no_file(sandbox: Path) -> None:
    (sandbox / "file").write_text("mine")

    with pytest.raises(FileExistsError):
        make_inner_link(Base(path=str(sandbox)), "file", "/elsewhere")

    assert (sandbox / "file").read_text() == "mine"


def test_no_link_is_followed_on_the_way_to_a_nested_sandbox(sandbox: Path) -> None:
    (sandbox.parent / "outside/c").mkdir()
    (sandbox / "containers").symlink_to(sandbox.parent / "outside")
    nested = Base(path=str(sandbox), steps=("containers", "c"))

    for make in MAKERS:
        with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
            make(nested, "x")

    assert not any((sandbox.parent / "outside/c").iterdir())
