"""What is read of `docker inspect`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tfmesos.agent.docker.errors import DockerError
from tfmesos.agent.docker.inspection import Device, parse_inspections

STATE = {
    "Running": True,
    "OOMKilled": False,
    "Pid": 7,
    "ExitCode": 0,
    "StartedAt": "2026-12-01T06:05:16.74809031Z",
    "FinishedAt": "0001-01-01T00:00:00Z",
}


def answer(**changes: Any) -> bytes:
    return json.dumps([{"Name": "/mesos-c", "State": STATE, "HostConfig": {}, **changes}]).encode()


def test_a_running_container() -> None:
    (found,) = parse_inspections(answer())

    assert (found.name, found.has_started, found.is_running, found.pid) == ("mesos-c", True, True, 7)
    assert found.finished_s is None
    assert json.loads(found.data)[0]["Name"] == "/mesos-c"


def test_one_that_was_made_and_never_started() -> None:
    (found,) = parse_inspections(
        answer(State={**STATE, "Running": False, "Pid": 0, "StartedAt": "0001-01-01T00:00:00Z"})
    )

    assert not found.has_started


@pytest.mark.parametrize("finished", ["1970-01-01T00:01:40.123456789Z", "1970-01-01T01:01:40.1+01:00"])
def test_when_it_has_ended(finished: str) -> None:
    (found,) = parse_inspections(answer(State={**STATE, "Running": False, "FinishedAt": finished}))

    assert found.finished_s == 100.0


@pytest.mark.parametrize(
    ("mode", "settings", "address"),
    [
        ("default", {"IPAddress": "10.0.0.2", "Networks": {"bridge": {"IPAddress": "10.0.0.2"}}}, "10.0.0.2"),
        ("mine", {"IPAddress": "", "Networks": {"mine": {"IPAddress": "10.9.0.2"}}}, "10.9.0.2"),
        ("host", {"IPAddress": "", "Networks": {"host": {"IPAddress": ""}}}, None),
        ("old", {"IPAddress": "10.0.0.3"}, "10.0.0.3"),
    ],
)
def test_its_address_is_that_of_its_network(mode: str, settings: dict[str, Any], address: str | None) -> None:
    (found,) = parse_inspections(answer(HostConfig={"NetworkMode": mode}, NetworkSettings=settings))

    assert found.ip_address == address


def test_devices_have_the_bits_whose_letters_are_there() -> None:
    """spec/gpu.md §6."""
    entry = {"PathOnHost": "/dev/nvidiactl", "PathInContainer": "/dev/x", "CgroupPermissions": "wqr"}

    (found,) = parse_inspections(answer(HostConfig={"Devices": [entry]}))

    assert found.devices == (Device(host_path="/dev/nvidiactl", container_path="/dev/x", access="rw"),)
    assert found.devices[0].argument == "--device=/dev/nvidiactl:/dev/x:rw"


@pytest.mark.parametrize("missing", ["PathOnHost", "PathInContainer", "CgroupPermissions"])
def test_a_device_of_which_something_is_missing_is_an_error(missing: str) -> None:
    entry = {"PathOnHost": "/dev/a", "PathInContainer": "/dev/a", "CgroupPermissions": "rwm"}
    del entry[missing]

    with pytest.raises(DockerError, match=r"Malformed HostConfig\.Devices entry"):
        parse_inspections(answer(HostConfig={"Devices": [entry]}))


@pytest.mark.parametrize(
    ("device", "text"),
    [
        (Device(host_path="/dev/a", container_path="/dev/a", access=""), "At least one access required for --devices"),
        (Device(host_path="dev/a", container_path="/dev/a"), "Only absolute paths are allowed for --devices"),
    ],
)
def test_devices_that_cannot_be_given(device: Device, text: str) -> None:
    with pytest.raises(DockerError, match=text):
        _ = device.argument


@pytest.mark.parametrize("output", [b"", b"[{}]", b'[{"Name": 1}]', b"[1]", b"7"])
def test_an_answer_that_makes_no_sense_is_an_error(output: bytes) -> None:
    with pytest.raises(DockerError, match="cannot be understood"):
        parse_inspections(output)
