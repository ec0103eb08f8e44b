"""Several agents of one machine have the same root."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import pytest

from tests.cgroups.conftest import hierarchies_of
from tfmesos.cgroups import Cgroups, Hierarchies

pytestmark = pytest.mark.root


@pytest.fixture(params=["v1", "v2"])
def hierarchies(request: pytest.FixtureRequest) -> Hierarchies:
    return hierarchies_of(request.param)


@pytest.fixture
def root(hierarchies: Hierarchies) -> Iterator[str]:
    """Nothing of it is left in the end."""
    name = f"test-owners-{uuid.uuid4().hex[:8]}"
    yield name
    tree = hierarchies.tree_of("freezer")
    assert tree is not None
    assert not os.path.exists(f"{tree.path}/{name}")


async def test_each_finds_its_own_again_and_never_another_ones(hierarchies: Hierarchies, root: str) -> None:
    one, other = (Cgroups.open(hierarchies, root, ["freezer"], owner) for owner in ("/run/one", "/run/other"))
    first, second = one.create(("a",)), other.create(("b",))
    one.create(("a", "nested"))

    again = Cgroups.open(hierarchies, root, ["freezer"], "/run/one")

    assert again.lineages() == [("a",), ("a", "nested")]
    assert other.lineages() == [("b",)]
    assert Cgroups.open(hierarchies, root, ["freezer"]).lineages() == [("a",), ("a", "nested"), ("b",)]
    await first.destroy()
    await second.destroy()
    other.close()
    one.close()


async def test_a_root_that_another_one_removed_is_made_again(hierarchies: Hierarchies, root: str) -> None:
    one, other = (Cgroups.open(hierarchies, root, ["freezer"], owner) for owner in ("/run/one", "/run/other"))
    one.close()

    cgroup = other.create(("b",))

    assert other.lineages() == [("b",)]
    await cgroup.destroy()
    other.close()
