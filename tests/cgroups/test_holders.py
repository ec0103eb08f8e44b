"""Who holds a device's node open."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.cgroups.inside import Inside, Nodes
from tfmesos.cgroups import Cgroup, Device
from tfmesos.cgroups._holders import holders

pytestmark = [pytest.mark.root, pytest.mark.cgroups]

NULL, CARD, OTHER = Device("c", 1, 3), Device("c", 195, 0), Device("c", 195, 1)


@pytest.fixture
def inside(cgroup: Cgroup) -> Iterator[Inside]:
    with Inside(cgroup) as process:
        yield process


def test_a_node_is_known_by_its_numbers_not_by_its_name(inside: Inside, cgroup: Cgroup, nodes: Nodes) -> None:
    assert holders(cgroup.pids(), {NULL, CARD}) == {}
    assert inside.ask("hold", nodes.path_of(NULL), "rw") == "ok"
    assert holders(cgroup.pids(), {NULL, CARD}) == {inside.pid: {NULL}}
    assert holders(cgroup.pids(), {CARD}) == {}


def test_a_node_that_is_held_in_any_way_counts(inside: Inside, nodes: Nodes) -> None:
    """An O_PATH descriptor stands for an open card, since nothing drives the nodes here."""
    assert inside.ask("hold", nodes.path_of(CARD), "path") == "ok"
    assert inside.ask("hold", nodes.path_of(OTHER), "path") == "ok"
    assert holders([inside.pid, os.getpid()], [CARD, OTHER]) == {inside.pid: {CARD, OTHER}}


def test_a_node_that_was_removed_counts(inside: Inside, nodes: Nodes) -> None:
    inside.ask("hold", nodes.path_of(CARD), "path")
    os.unlink(nodes.path_of(CARD))
    assert holders([inside.pid], [CARD]) == {inside.pid: {CARD}}


def test_a_process_that_has_ended_holds_nothing(inside: Inside, cgroup: Cgroup, nodes: Nodes) -> None:
    inside.ask("hold", nodes.path_of(CARD), "path")
    cgroup.kill()
    inside.wait()
    assert holders([inside.pid], [CARD]) == {}


def test_a_holder_that_is_another_process_each_time_is_not_missed(inside: Inside, cgroup: Cgroup, nodes: Nodes) -> None:
    inside.ask("hold", nodes.path_of(CARD), "path")
    assert cgroup.holders([CARD]) == {inside.pid: {CARD}}
    inside.send([("hop",)])
    inside.wait()
    for _ in range(30):
        assert set.union(*cgroup.holders([CARD]).values()) == {CARD}
