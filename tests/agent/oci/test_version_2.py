"""The same where there are cgroups of version 2 only: tests of this folder, in a mount namespace that has no others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tfmesos.cgroups import Hierarchies

pytestmark = [pytest.mark.root, pytest.mark.cgroups]

_VIEW = 'mount -t cgroup2 none /sys/fs/cgroup && exec "$@"'
_FOLDER = Path(__file__).parent
_TESTS = (
    "test_containers.py::test_a_container_has_its_cgroup_in_every_tree",
    "test_containers.py::test_rules_of_devices_hold_when_they_change",
    "test_joining.py::test_a_debug_container_ends_alone",
    "test_losses.py::test_a_process_of_the_start_is_killed",
)


@pytest.fixture
def controllers_as_before() -> Iterator[None]:
    """runc passes all controllers on, from the top."""
    tree = next((tree for tree in Hierarchies.detect().trees if tree.version == 2), None)
    if os.geteuid() != 0 or shutil.which("unshare") is None or tree is None:
        pytest.skip("needs root, unshare and cgroups of version 2")
    control = Path(tree.path, "cgroup.subtree_control")
    before = control.read_text().split()
    yield
    added = set(control.read_text().split()) - set(before)
    if added:
        control.write_text(" ".join(f"-{name}" for name in added))


@pytest.mark.usefixtures("controllers_as_before")
def test_containers_are_the_same_on_version_2() -> None:
    tests = [str(_FOLDER / name) for name in _TESTS]
    command = ["unshare", "--mount", "--", "sh", "-c", _VIEW, "sh", sys.executable, "-m", "pytest", "-q", *tests]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout
