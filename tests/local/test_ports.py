"""Ports are held machine-wide."""

import random
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tfmesos.local import LocalClusterError
from tfmesos.local.ports import PortLocks, candidate_ports

TAKE_AND_WAIT = """
import random, sys
from tfmesos.local.ports import PortLocks
locks = PortLocks([int(word) for word in sys.argv[2:]], chance=random.Random())
print(*locks.take(int(sys.argv[1])), flush=True)
sys.stdin.read()
"""


def write_settings(root: Path, *, dynamic: str, reserved: str = "\n") -> Path:
    settings = root / "proc/sys/net/ipv4"
    settings.mkdir(parents=True)
    (settings / "ip_local_port_range").write_text(dynamic)
    (settings / "ip_local_reserved_ports").write_text(reserved)
    return root


def test_candidates_avoid_the_kernels_range_other_agents_and_reserved_ports(tmp_path: Path) -> None:
    root = write_settings(tmp_path, dynamic="32768\t60999\n", reserved="20000,20010-20012\n")

    ports = candidate_ports(root)

    assert min(ports) == 10_000
    assert max(ports) == 65_535
    assert not [port for port in ports if 32_768 <= port <= 60_999 or 31_000 <= port <= 32_000]
    assert not {20_000, 20_010, 20_011, 20_012} & set(ports)
    assert {20_001, 20_009, 20_013, 32_001, 32_767, 61_000} <= set(ports)


def test_a_kernel_range_over_everything_leaves_all_ports(tmp_path: Path) -> None:
    ports = candidate_ports(write_settings(tmp_path, dynamic="1024 65535"))

    assert len(ports) > 50_000


def test_settings_that_cannot_be_read_have_the_kernels_defaults(tmp_path: Path) -> None:
    assert 33_000 not in candidate_ports(tmp_path)


def test_processes_at_once_never_get_the_same_port() -> None:
    candidates = [str(port) for port in candidate_ports()[:60]]
    holders = [
        subprocess.Popen(
            [sys.executable, "-c", TAKE_AND_WAIT, "10", *candidates],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(5)
    ]

    taken = [int(word) for holder in holders if holder.stdout for word in holder.stdout.readline().split()]

    for holder in holders:
        holder.communicate()
    assert len(taken) == 50
    assert len(set(taken)) == 50


def test_ports_come_back_when_the_holder_is_killed() -> None:
    candidates = candidate_ports()[100:110]
    words = [str(port) for port in candidates]
    holder = subprocess.Popen(
        [sys.executable, "-c", TAKE_AND_WAIT, "10", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert len(holder.stdout.readline().split()) == 10
    locks = PortLocks(candidates, chance=random.Random(1))
    with pytest.raises(LocalClusterError):
        locks.take(1)

    holder.kill()
    holder.communicate()

    assert locks.take(10) == tuple(candidates)
    locks.close()


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_a_port_somebody_listens_on_is_left_alone(family: socket.AddressFamily, host: str) -> None:
    with socket.socket(family) as listener:
        try:
            listener.bind((host, 0))
        except OSError as error:
            pytest.skip(f"no {host}: {error}")
        listener.listen()
        port = listener.getsockname()[1]

        with pytest.raises(LocalClusterError, match="needs 1 free ports, but this machine has only 0 left"):
            PortLocks([port], chance=random.Random(1)).take(1)


def test_a_held_port_can_be_bound_by_the_task() -> None:
    locks = PortLocks(candidate_ports(), chance=random.Random())
    (port,) = locks.take(1)

    with socket.create_server(("127.0.0.1", port)) as server:
        assert server.getsockname()[1] == port
    locks.close()
