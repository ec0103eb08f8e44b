"""Several agents below one root: each knows its own cgroups."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cgroups.conftest import hierarchies_of
from tfmesos.cgroups import Cgroup, Cgroups

pytestmark = [pytest.mark.root, pytest.mark.cgroups]


def remove(cgroup: Cgroup | None) -> None:
    assert cgroup is not None
    assert cgroup.remove_empty()


def test_each_owner_sees_its_own_also_after_a_restart(version: str) -> None:
    root, hierarchies = f"test-owners-{version}-{os.getpid()}", hierarchies_of(version)
    first, again, other = (Cgroups.open(hierarchies, root, ("devices",), owner) for owner in ("/a", "/a", "/b"))
    try:
        first.create(("one",))
        first.create(("one", "nested"))
        other.create(("two",))
        assert again.lineages() == [("one",), ("one", "nested")]
        assert other.lineages() == [("two",)]
        assert Cgroups.open(hierarchies, root, ("devices",)).lineages() == [("one",), ("one", "nested"), ("two",)]
    finally:
        remove(again.find(("one",)))
        remove(other.find(("two",)))
        first.close()


def test_what_was_forsaken_before_it_had_a_name_is_removed(version: str) -> None:
    root, hierarchies = f"test-forsaken-{version}-{os.getpid()}", hierarchies_of(version)
    first = Cgroups.open(hierarchies, root, ("devices",), "/a")
    directory = Path(f"{hierarchies.path_of('devices')}/{root}")
    old, new = directory / "old", directory / "new"
    owned = first.create(("owned",))
    try:
        for path in (old, new):
            path.mkdir()
        if version == "v2":
            (old / "leaf").mkdir()
        for path in (old, directory / "owned"):
            os.utime(path, (0, 0))

        Cgroups.open(hierarchies, root, ("devices",), "/b")

        assert (old.exists(), new.exists(), (directory / "owned").exists()) == (False, True, True)
    finally:
        new.rmdir()
        remove(owned)
        first.close()


def test_a_root_that_another_removed_as_empty_is_made_again(version: str) -> None:
    root, hierarchies = f"test-again-{version}-{os.getpid()}", hierarchies_of(version)
    first, second = (Cgroups.open(hierarchies, root, ("devices",), owner) for owner in ("/a", "/b"))
    first.close()
    cgroup = second.create(("container",))
    try:
        assert second.lineages() == [("container",)]
    finally:
        remove(cgroup)
        second.close()
    assert not os.path.exists(f"{hierarchies.path_of('devices')}/{root}")


def test_a_root_is_no_passage_though_it_bears_its_name(version: str) -> None:
    """The usual root is called as the directories between containers; made again, it is still ours to remove."""
    hierarchies = hierarchies_of(version)
    outer = Path(f"{hierarchies.path_of('devices')}/test-outer-{version}-{os.getpid()}")
    outer.mkdir()
    try:
        first, second = (Cgroups.open(hierarchies, f"{outer.name}/mesos", ("devices",)) for _ in range(2))
        first.close()
        assert not (outer / "mesos").exists()
        remove(second.create(("container",)))
        second.close()
        assert not (outer / "mesos").exists()
    finally:
        outer.rmdir()
