"""--allowed_devices."""

from __future__ import annotations

import pytest

from tfmesos.agent.isolators import parse_allowed_devices
from tfmesos.agent.isolators.allowed_devices import AllowedDevice
from tfmesos.flags import FlagError


def test_each_device_has_a_path_and_what_may_be_done_with_it() -> None:
    text = """{"allowed_devices": [
        {"device": {"path": "/dev/fuse"}, "access": {"read": true, "write": true, "mknod": false}},
        {"device": {"path": "/dev/loop0"}, "access": {"mknod": true}}]}"""

    assert parse_allowed_devices(text) == (AllowedDevice("/dev/fuse", "rw"), AllowedDevice("/dev/loop0", "m"))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("/dev/fuse", "not a JSON object"),
        ('["/dev/fuse"]', 'expecting a JSON object {"allowed_devices": [...]}'),
        ('{"allowed_devices": [{"access": {"read": true}}]}', "The allowed device has no path"),
        ('{"allowed_devices": [{"device": {"path": "/dev/x"}}]}', "device '/dev/x': 'access' is an object of read"),
        (
            '{"allowed_devices": [{"device": {"path": "/dev/x"}, "access": {"read": false}}]}',
            "device '/dev/x': at least one of read, write, mknod must be true",
        ),
    ],
)
def test_a_device_that_says_too_little_is_refused_with_what_lacks(text: str, fault: str) -> None:
    with pytest.raises(FlagError) as refused:
        parse_allowed_devices(text)

    assert fault in str(refused.value)
