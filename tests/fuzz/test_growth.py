"""What ten thousand requests leave behind in a daemon: nothing."""

import socket

import pytest

from tests.fuzz.target import PATIENCE_S, Target, request

SOME = 1_000
MANY = 10_000
ALLOWED_BYTES = 2 * 1024 * 1024
ALLOWED_DESCRIPTORS = 3
_BATCH = 250


def mixed(kind: str) -> list[bytes]:
    """Right and wrong requests of every sort, none of which is to leave anything."""
    call = {"Content_Type": "application/json", "Accept": "application/json"}
    api = "executor" if kind == "agent" else "scheduler"
    return [
        request("GET", "/health"),
        request("GET", "/version"),
        request("GET", "/nothing/here"),
        request("GET", "/state"),
        request("GET", "/metrics/snapshot"),
        request("POST", "/api/v1", b'{"type":"GET_HEALTH"}', **call),
        request("POST", "/api/v1", b'{"type":"GET_STATE"}', **call),
        request("POST", "/api/v1", b'{"type":', **call),
        request("POST", f"/api/v1/{api}", b'{"type":"SUBSCRIBE"}', **call),
        request("POST", f"/api/v1/{api}", b"\xff\xfe", Content_Type="application/x-protobuf"),
        request("POST", "/nobody/mesos.internal.PongSlaveMessage", Libprocess_From="slave(7)@127.0.0.1:1"),
    ]


def send(target: Target, count: int, requests: list[bytes]) -> None:
    """Pipelined, over a new connection for each batch; all answers are read."""
    data = b"".join(requests[number % len(requests)] for number in range(_BATCH))
    data += request("GET", "/health", Connection="close")
    for _ in range(count // _BATCH):
        with socket.create_connection(("127.0.0.1", target.port), PATIENCE_S) as connection:
            connection.sendall(data)
            while connection.recv(1 << 20):
                pass


@pytest.mark.parametrize("kind", ["master", "agent"])
def test_memory_and_descriptors_stay(kind: str, request: pytest.FixtureRequest) -> None:
    target: Target = request.getfixturevalue(kind)
    requests = mixed(kind)
    send(target, SOME, requests)
    memory, descriptors = target.memory, target.descriptors

    send(target, MANY - SOME, requests)

    assert target.memory <= memory + ALLOWED_BYTES
    assert target.descriptors <= descriptors + ALLOWED_DESCRIPTORS
