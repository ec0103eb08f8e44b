"""Device rules as the kernel enforces them, seen from inside, on both versions."""

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cgroups.conftest import OpenCgroups
from tests.cgroups.inside import Inside, Nodes
from tests.cgroups.model import is_allowed
from tfmesos.cgroups import ALLOW_ALL, Cgroup, CgroupError, Cgroups, Device, DeviceRule, DeviceType

pytestmark = [pytest.mark.root, pytest.mark.cgroups]

TYPES: tuple[DeviceType, ...] = ("c", "b")
DRIVERLESS = [Device(kind, major, minor) for kind, major, minor in product(TYPES, (195, 511), (0, 1))]
REQUESTS = [DeviceRule(device, access) for device, access in product(DRIVERLESS, ("r", "w", "rw", "m"))]


def parse(*texts: str) -> list[DeviceRule]:
    return [DeviceRule.parse(text) for text in texts]


def model(rules: list[DeviceRule]) -> set[DeviceRule]:
    return {request for request in REQUESTS if is_allowed(rules, request)}


def test_a_new_cgroup_restricts_nothing(cgroup: Cgroup, nodes: Nodes) -> None:
    assert not cgroup.devices.has_rules()
    with Inside(cgroup) as inside:
        assert nodes.allowed(inside, REQUESTS) == set(REQUESTS)


def test_the_first_rules_deny_everything_else(cgroup: Cgroup, nodes: Nodes) -> None:
    with Inside(cgroup) as inside:
        cgroup.devices.set(parse("c 1:3 rwm", "c 195:0 rw", "c 195:255 rwm", "c 511:* rwm"))
        assert inside.ask("open", "/dev/null", "rw") == "ok"
        assert inside.ask("open", "/dev/zero", "r") == "EPERM"
        assert inside.ask("open", nodes.path_of(Device("c", 195, 0)), "rw") == "ENXIO"
        assert inside.ask("open", nodes.path_of(Device("c", 195, 1)), "rw") == "EPERM"
        assert inside.ask("open", nodes.path_of(Device("c", 511, 7)), "rw") == "ENXIO"


def test_no_rules_allow_nothing(cgroup: Cgroup, nodes: Nodes) -> None:
    with Inside(cgroup) as inside:
        cgroup.devices.set([])
        assert cgroup.devices.has_rules()
        assert nodes.allowed(inside, REQUESTS) == set()


def test_rules_that_match_everything_may_come_first(cgroup: Cgroup, nodes: Nodes) -> None:
    with Inside(cgroup) as inside:
        cgroup.devices.set([*ALLOW_ALL, *parse("c 195:0 rw")])
        assert nodes.allowed(inside, REQUESTS) == set(REQUESTS)
        cgroup.devices.set(parse("c *:* m", "c *:* rw", "c 195:0 rw"))
        assert nodes.allowed(inside, REQUESTS) == {request for request in REQUESTS if request.device.type == "c"}
        cgroup.devices.set(ALLOW_ALL[1:])
        assert nodes.allowed(inside, REQUESTS) == {request for request in REQUESTS if request.device.type == "b"}


numbers = st.sampled_from([None, 195, 511]), st.sampled_from([None, 0, 1])
rules = st.builds(
    DeviceRule,
    st.builds(Device, st.sampled_from(TYPES), *numbers),
    st.sampled_from(["r", "w", "m", "rw", "rm", "wm", "rwm"]),
)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.lists(rules, max_size=8), min_size=1, max_size=6))
def test_any_sequence_of_rules_means_what_the_model_says(
    cgroups: Cgroups, nodes: Nodes, steps: list[list[DeviceRule]]
) -> None:
    name = f"container-{len(cgroups.lineages())}"
    cgroup = cgroups.create((name,))
    with Inside(cgroup) as inside:
        for step in steps:
            found = cgroups.find((name,))
            assert found is not None
            found.devices.set(step)
            assert nodes.allowed(inside, REQUESTS) == model(step)
            told = found.devices.read()
            assert told is None or model(told) == model(step)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.lists(st.tuples(rules, st.booleans()), max_size=6), min_size=1, max_size=5))
def test_what_is_nested_has_any_part_of_what_its_parent_has(
    cgroups: Cgroups, nodes: Nodes, steps: list[list[tuple[DeviceRule, bool]]]
) -> None:
    name = f"parent-{len(cgroups.lineages())}"
    parent = cgroups.create((name,))
    parent.devices.set([])
    child = cgroups.create((name, "child"))
    with Inside(parent) as outer, Inside(child) as inner:
        for step in steps:
            whole, part = [rule for rule, _ in step], [rule for rule, is_shared in step if is_shared]
            parent.devices.set(whole)
            child.devices.set(part)
            assert nodes.allowed(outer, REQUESTS) == model(whole)
            assert nodes.allowed(inner, REQUESTS) == model(part)


def test_what_stays_allowed_is_never_interrupted(cgroup: Cgroup, nodes: Nodes) -> None:
    path = nodes.path_of(Device("c", 195, 0))
    others = [[], parse("c 195:1 rw"), parse("c 195:* r"), parse("c 511:* rwm", "b *:* m")]
    ways = [parse("c 195:0 rw"), parse("c 195:* rwm"), parse("c *:0 rw"), parse("c *:* rw"), parse("c 195:0 rwm")]
    cgroup.devices.set(ways[0])
    with Inside(cgroup) as inside:
        inside.send([("loop", path)])
        for _ in range(10):
            for way, other in product(ways, others):
                cgroup.devices.set([*other, *way])
        inside.send([])
        (results,) = inside.receive()
        assert isinstance(results, dict)
        assert results.keys() == {"ENXIO"}
        assert results["ENXIO"] > 100


def test_what_is_open_stays_open(cgroup: Cgroup, nodes: Nodes) -> None:
    cgroup.devices.set(parse("c 1:3 rw"))
    with Inside(cgroup) as inside:
        assert inside.ask("hold", nodes.path_of(Device("c", 1, 3)), "rw") == "ok"
        cgroup.devices.set([])
        assert inside.ask("open", nodes.path_of(Device("c", 1, 3)), "rw") == "EPERM"


def test_a_malformed_rule_changes_nothing(cgroup: Cgroup, nodes: Nodes) -> None:
    cgroup.devices.set(parse("c 195:0 rw"))
    with Inside(cgroup) as inside:
        with pytest.raises(CgroupError, match="'c 195:x rw'"):
            cgroup.devices.set(parse("c 195:1 rw", "c 195:x rw"))
        assert nodes.allowed(inside, REQUESTS) == model(parse("c 195:0 rw"))


RESTART = """
import sys
from contextlib import nullcontext
from tests.cgroups.conftest import hierarchies_of
from tfmesos.cgroups import Cgroups, DeviceRule
version, root, *rules = sys.argv[1:]
cgroup = Cgroups.open(hierarchies_of(version), root, ("devices", "freezer")).find(("container",))
before = cgroup.devices.read()
cgroup.devices.set([DeviceRule.parse(rule) for rule in rules])
print(before and [str(rule) for rule in before])
"""


def test_another_process_goes_on_with_the_rules(open_cgroups: OpenCgroups, version: str, nodes: Nodes) -> None:
    root = f"test-restart-{version}"
    cgroup = open_cgroups(version, root=root).create(("container",))
    cgroup.devices.set(parse("c 195:0 rw", "c 195:1 rw"))
    with Inside(cgroup) as inside:
        command = [sys.executable, "-c", RESTART, version, root, "c 195:1 rw", "c 511:0 r"]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        assert told == ("None" if version == "v2" else "['c 195:0 rw', 'c 195:1 rw']")
        assert nodes.allowed(inside, REQUESTS) == model(parse("c 195:1 rw", "c 511:0 r"))
        cgroup.devices.set(parse("c 195:0 rw"))
        assert nodes.allowed(inside, REQUESTS) == model(parse("c 195:0 rw"))


def test_a_nested_cgroup_cannot_have_more_than_its_parent(cgroups: Cgroups, version: str, nodes: Nodes) -> None:
    parent = cgroups.create(("parent",))
    parent.devices.set(parse("c 195:0 rw"))
    child = cgroups.create(("parent", "child"))
    refusal = pytest.raises(CgroupError, match=r"'c 195:1 rw'.*the cgroup above it does not allow that")
    with refusal if version == "v1" else nullcontext():
        child.devices.set(parse("c 195:0 rw", "c 195:1 rw"))
    with Inside(child) as inside:
        assert nodes.allowed(inside, REQUESTS) == model(parse("c 195:0 rw"))


def test_a_nested_cgroup_follows_its_parent(cgroups: Cgroups, nodes: Nodes) -> None:
    """A card is given to a container that runs, then to what is nested in it, and taken from both."""
    parent = cgroups.create(("parent",))
    parent.devices.set(parse("c 195:0 rw"))
    child = cgroups.create(("parent", "child"))
    child.devices.set(parse("c 195:0 rw"))
    with Inside(child) as inside:
        parent.devices.set(parse("c 195:0 rw", "c 195:1 rw", "c 511:* rw"))
        assert nodes.allowed(inside, REQUESTS) == model(parse("c 195:0 rw"))
        child.devices.set(parse("c 195:1 rw", "c 511:1 r"))
        assert nodes.allowed(inside, REQUESTS) == model(parse("c 195:1 rw", "c 511:1 r"))
        parent.devices.set(parse("c 195:0 rw"))
        assert nodes.allowed(inside, REQUESTS) == set()


def test_what_a_container_runtime_starts_has_all_that_its_container_has(cgroups: Cgroups, nodes: Nodes) -> None:
    """It has a cgroup below, made when the rules were others already."""
    cgroup = cgroups.create(("container",))
    cgroup.devices.set(parse("c 195:0 rw"))
    below = Path(cgroup.parts[0].guest)
    below.mkdir()
    with Inside(cgroup) as inside:
        (below / "cgroup.procs").write_text(str(inside.pid))
        for rules in (["c 195:0 rw", "c 195:1 rw", "c 511:* rw"], ["c 195:1 rw"], ["c 195:0 rw"]):
            cgroup.devices.set(parse(*rules))
            assert nodes.allowed(inside, REQUESTS) == model(parse(*rules))


def test_a_lot_of_rules(cgroup: Cgroup, nodes: Nodes) -> None:
    cgroup.devices.set(parse(*(f"c 195:{minor} rw" for minor in range(512))))
    with Inside(cgroup) as inside:
        asked = [DeviceRule(Device("c", 195, minor), "rw") for minor in (0, 255, 511, 512)]
        assert nodes.allowed(inside, asked) == set(asked[:3])


def test_rules_for_a_cgroup_that_is_gone_name_it(cgroups: Cgroups) -> None:
    cgroup = cgroups.create(("gone",))
    assert cgroup.remove_empty()
    with pytest.raises(CgroupError, match="/gone"):
        cgroup.devices.set([])


def test_version_1_wants_the_rules_before_what_is_nested(open_cgroups: OpenCgroups) -> None:
    cgroups = open_cgroups("v1")
    parent = cgroups.create(("parent",))
    cgroups.create(("parent", "child"))
    with pytest.raises(CgroupError, match="there are cgroups below it already"):
        parent.devices.set([])
