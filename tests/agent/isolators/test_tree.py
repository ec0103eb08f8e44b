"""Where paths lead in the tree of an image: as the kernel has it for a root directory."""

from __future__ import annotations

import ctypes
import os
import struct
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfmesos.agent.isolators.volumes.tree import TooManyLinks, resolve_in_tree

OPENAT2, RESOLVE_IN_ROOT = 437, 0x10  # kernel: openat2.h
LIBC = ctypes.CDLL(None, use_errno=True)
NAMES = st.sampled_from(["a", "b", "c"])
TARGETS = st.builds(
    lambda slash, parts: slash + "/".join(parts),
    st.sampled_from(["", "/"]),
    st.lists(st.sampled_from(["a", "b", "c", "..", "."]), min_size=1, max_size=3),
)


def led_by_kernel(tree: str, path: str) -> str | None:
    """Where the kernel comes to, from the tree's top; None if it comes nowhere."""
    root = os.open(tree, os.O_PATH | os.O_CLOEXEC)
    how = struct.pack("QQQ", os.O_PATH | os.O_CLOEXEC, 0, RESOLVE_IN_ROOT)
    try:
        found = LIBC.syscall(OPENAT2, root, path.encode(), how, len(how))
        if found < 0:
            return None
        place = os.readlink(f"/proc/self/fd/{found}")
        os.close(found)
        return "/" + os.path.relpath(place, tree) if place != tree else "/"
    finally:
        os.close(root)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.lists(NAMES, min_size=1, max_size=2).map(tuple), TARGETS | st.none(), max_size=6), TARGETS)
def test_a_path_leads_where_the_kernel_would_come_to(entries: dict[tuple[str, ...], str | None], path: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tree = os.path.realpath(folder)
        for parts, target in sorted(entries.items()):
            place = Path(tree, *parts)
            if place.parent.is_dir() and not place.parent.is_symlink() and not place.is_symlink():
                place.symlink_to(target) if target is not None else place.mkdir(exist_ok=True)
        expected = led_by_kernel(tree, path)

        try:
            found = resolve_in_tree(tree, path)
        except TooManyLinks:
            found = None

        if expected is not None:
            assert found == expected
        if found is not None:
            assert ".." not in found.split("/")


def test_what_is_not_there_is_taken_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "var").mkdir()
    (tmp_path / "var/run").symlink_to("/run")

    assert resolve_in_tree(str(tmp_path), "/var/run/a//b/./c") == "/run/a/b/c"


def test_no_link_leads_out(tmp_path: Path) -> None:
    (tmp_path / "up").symlink_to("../../../../etc")
    (tmp_path / "top").symlink_to("/")

    assert resolve_in_tree(str(tmp_path), "/up/passwd") == "/etc/passwd"
    assert resolve_in_tree(str(tmp_path), "/top/x") == "/x"
    assert resolve_in_tree(str(tmp_path), "/../../x") == "/x"


def test_links_that_lead_to_each_other_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")

    with pytest.raises(TooManyLinks):
        resolve_in_tree(str(tmp_path), "/a")
