"""Cgroups of the kernel's, of both versions, below a root that only this test knows."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cgroups.inside import Nodes
from tfmesos.cgroups import Cgroup, Cgroups, Hierarchies, Hierarchy

CORE = frozenset({"devices", "freezer", "cpuacct"})

OpenCgroups = Callable[..., Cgroups]


def unified_path() -> str | None:
    """Where version 2 is mounted, beside version 1 or alone."""
    for path in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        if os.path.exists(f"{path}/cgroup.subtree_control"):
            return path
    return None


def hierarchies_of(version: str) -> Hierarchies:
    """What this machine has ("v1"), its tree of version 2 alone ("v2"), or rules in one and the rest in the other."""
    detected = Hierarchies.detect()
    unified = unified_path()
    tree = Hierarchy(path=str(unified), version=2, controllers=CORE)
    if version == "v1":
        fault = detected.faults("devices") if detected.version == 1 else "cgroup version 1 is not mounted"
        found = detected
    elif version == "v2":
        found = Hierarchies([tree])
        fault = found.faults("devices") if unified else "cgroup version 2 is not mounted"
    else:
        devices = Hierarchy(path=str(detected.path_of("devices")), version=1, controllers=frozenset({"devices"}))
        found = Hierarchies([devices, tree])
        fault = None if detected.version == 1 and unified else "only one cgroup version is mounted"
    if os.geteuid() != 0 or fault is not None:
        pytest.skip(fault or "needs root")
    return found


@pytest.fixture
def open_cgroups() -> Iterator[OpenCgroups]:
    """`open_cgroups("v1", "devices", "memory")`; everything below the root is gone afterwards."""
    opened: list[Cgroups] = []

    def open_(version: str, *controllers: str, root: str | None = None) -> Cgroups:
        root = root or f"test-{uuid.uuid4().hex[:12]}"
        opened.append(Cgroups.open(hierarchies_of(version), root, controllers or ("devices", "freezer")))
        return opened[-1]

    yield open_
    for cgroups in opened:
        for lineage in reversed(cgroups.lineages()):
            cgroup = cgroups.find(lineage)
            assert cgroup is not None
            asyncio.run(cgroup.destroy(10))
        cgroups.close()


@pytest.fixture(params=["v1", "v2"])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def cgroups(open_cgroups: OpenCgroups, version: str) -> Cgroups:
    return open_cgroups(version)


@pytest.fixture
def cgroup(cgroups: Cgroups) -> Cgroup:
    return cgroups.create(("container",))


@pytest.fixture
def nodes(tmp_path: Path) -> Nodes:
    if os.statvfs(tmp_path).f_flag & os.ST_NODEV:
        pytest.skip(f"{tmp_path} lies on a file system without devices")
    return Nodes(str(tmp_path))
