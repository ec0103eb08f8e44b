"""Ports for tasks, held machine-wide: two jobs on one machine never get the same one."""

import errno
import random
import socket
from collections.abc import Iterator
from pathlib import Path

from tfmesos.local.errors import LocalClusterError
from tfmesos.local.locks import NameLocks

__all__ = ["PortLocks", "candidate_ports"]

_LOWEST, _HIGHEST = 10_000, 65_535
_MESOS_DEFAULT = range(31_000, 32_001)
"""What agents offer that are told nothing (Mesos 1.11): another agent of this machine may give them away."""


def candidate_ports(root: Path = Path("/")) -> list[int]:
    """The ports that neither the kernel nor a usual agent gives to others.

    kernel: ip-sysctl.rst, `ip_local_port_range` (outgoing connections and port 0), `ip_local_reserved_ports` (those an
    administrator keeps).
    """
    settings = root / "proc/sys/net/ipv4"
    low, high = _read_numbers(settings / "ip_local_port_range", default=(32_768, 60_999))
    reserved = set(_read_reserved(settings / "ip_local_reserved_ports"))
    outside = [
        port
        for port in range(_LOWEST, _HIGHEST + 1)
        if not low <= port <= high and port not in _MESOS_DEFAULT and port not in reserved
    ]
    return outside or [port for port in range(_LOWEST, _HIGHEST + 1) if port not in reserved]


class PortLocks:
    """Ports that this process holds, by their numbers, until it ends or `close` is called: they stay free for tasks."""

    def __init__(self, candidates: list[int], *, chance: random.Random) -> None:
        self._candidates = candidates
        self._chance = chance
        self._locks = NameLocks("port")

    def take(self, count: int) -> tuple[int, ...]:
        """Hold `count` more ports, in ascending order. Raises `LocalClusterError` when there are not that many."""
        taken: list[int] = []
        for port in self._from_anywhere():
            if len(taken) == count:
                break
            if self._lock(port):
                taken.append(port)
        if len(taken) < count:
            raise LocalClusterError(f"the job needs {count} free ports, but this machine has only {len(taken)} left")
        return tuple(sorted(taken))

    def close(self) -> None:
        """Give all ports back."""
        self._locks.close()

    def _from_anywhere(self) -> Iterator[int]:
        start = self._chance.randrange(len(self._candidates)) if self._candidates else 0
        yield from self._candidates[start:]
        yield from self._candidates[:start]

    def _lock(self, port: int) -> bool:
        if not self._locks.take(str(port)):
            return False
        if not _is_free(port):
            self._locks.give_back(str(port))
            return False
        return True


def _is_free(port: int) -> bool:
    """Whether nobody listens on it, on any address; a connection that lingers (TIME_WAIT) does not count."""
    for family, address in ((socket.AF_INET6, "::"), (socket.AF_INET, "0.0.0.0")):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trial.bind((address, port))
        except OSError as error:
            if error.errno not in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
                return False
    return True


def _read_numbers(path: Path, *, default: tuple[int, int]) -> tuple[int, int]:
    try:
        low, high = (int(word) for word in path.read_text("ascii").split())
    except (OSError, ValueError):
        return default
    return low, high


def _read_reserved(path: Path) -> Iterator[int]:
    try:
        text = path.read_text("ascii").strip()
    except OSError:
        return
    for part in filter(None, text.split(",")):
        low, _, high = part.partition("-")
        yield from range(int(low), int(high or low) + 1)
