"""Rules for device nodes as text and against each other; no kernel needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cgroups.model import is_allowed
from tfmesos.cgroups import ALLOW_ALL, BadDeviceRule, Device, DeviceRule
from tfmesos.cgroups.devices import merge_rules

numbers = st.none() | st.integers(0, 4095)
devices = st.builds(Device, st.sampled_from(["c", "b"]), numbers, numbers)
rules = st.builds(DeviceRule, devices, st.text("rwm", min_size=1, max_size=3))


@given(rules)
def test_a_rule_is_read_as_it_is_printed(rule: DeviceRule) -> None:
    assert DeviceRule.parse(str(rule)) == rule


def test_rules_are_written_as_the_kernel_does() -> None:
    assert str(DeviceRule(Device("c", 195, None), "wr")) == "c 195:* rw"
    assert str(DeviceRule(Device("b", None, None), "m")) == "b *:* m"


MALFORMED = (
    *("", "a *:* rwm", "c 195 rw", "c 195:0", "c 195:0 rx", "c 195:0 ", "c 195:0 rw\n", "c -1:0 rw", "c 4096:0 rw"),
    *("c 195:1048576 rw", "c ١:0 rw", "c  195:0 rw", "p 1:1 rw", "c 195:*0 rw", "c 99999999999:0 r"),
)


@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_rule_is_refused_by_name(text: str) -> None:
    with pytest.raises(BadDeviceRule):
        DeviceRule.parse(text)


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(BadDeviceRule, match="'c 195 rw'"):
        DeviceRule.parse("c 195 rw")
    with pytest.raises(BadDeviceRule, match="major number of a device is within 0 and 4095, not 5000"):
        Device("c", 5000, 0)
    with pytest.raises(BadDeviceRule, match="not of 'rx'"):
        DeviceRule(Device("c", 1, 3), "rx")
    with pytest.raises(BadDeviceRule, match="not of ''"):
        DeviceRule(Device("c", 1, 3), "")


def test_a_device_is_known_by_its_node(tmp_path: Path) -> None:
    assert Device.of_node("/dev/null") == Device("c", 1, 3)
    link = tmp_path / "link"
    link.symlink_to("/dev/null")
    assert Device.of_node(link) == Device("c", 1, 3)
    with pytest.raises(BadDeviceRule, match="neither a character nor a block device"):
        Device.of_node(tmp_path)
    with pytest.raises(FileNotFoundError):
        Device.of_node(tmp_path / "none")


def test_one_rule_must_cover_all_of_a_request() -> None:
    both = [DeviceRule.parse("c 1:3 w"), DeviceRule.parse("c 1:* r")]
    assert is_allowed(both, DeviceRule.parse("c 1:3 r"))
    assert not is_allowed(both, DeviceRule.parse("c 1:3 rw"))
    assert is_allowed([*both, DeviceRule.parse("c 1:3 r")], DeviceRule.parse("c 1:3 rw"))


@given(st.lists(rules))
def test_merging_changes_nothing_that_is_allowed(given_rules: list[DeviceRule]) -> None:
    merged = merge_rules(given_rules)
    assert len({rule.device for rule in merged}) == len(merged)
    assert all(is_allowed(merged, rule) for rule in given_rules)
    assert all(is_allowed(ALLOW_ALL, rule) for rule in given_rules)
