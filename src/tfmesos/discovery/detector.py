"""Detectors: each knows one way to learn who leads."""

import asyncio
from typing import Protocol

from tfmesos.discovery.leader import EMBEDDED_MASTER_PID, Leader
from tfmesos.transport import ConnectError, Pid, TcpAddress, UnixAddress


class Detector(Protocol):
    """Learns who leads. One task at a time calls `detect`; cancelling it is safe."""

    async def detect(self, previous: Leader | None) -> Leader:
        """The leader, as soon as it differs from `previous`; until then waits, for ever if need be.

        A ConnectError says that who leads cannot be told now; the caller tries again later.
        """
        ...

    async def close(self) -> None:
        """Let go of what the detector holds; may be called again."""
        ...


class TcpDetector:
    """One master at a fixed host and port."""

    def __init__(self, address: TcpAddress) -> None:
        self._address = address

    async def detect(self, previous: Leader | None) -> Leader:
        if previous is not None:
            await asyncio.get_running_loop().create_future()
        return Leader(self._address, await self._resolve())

    async def _resolve(self) -> Pid | None:
        """Pids hold an IPv4 address: a master signs its messages with it, not with its host name."""
        import socket

        address = self._address
        try:
            found = await asyncio.get_running_loop().getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise ConnectError(address, error.strerror or str(error)) from error
        for family, *_, bound in found:
            if family == socket.AF_INET:
                return Pid("master", str(bound[0]), address.port)
        return None

    async def close(self) -> None:
        pass


class UnixDetector:
    """One master at a unix socket: an embedded cluster's."""

    def __init__(self, address: UnixAddress) -> None:
        self._leader = Leader(address, EMBEDDED_MASTER_PID)

    async def detect(self, previous: Leader | None) -> Leader:
        if previous is not None:
            await asyncio.get_running_loop().create_future()
        return self._leader

    async def close(self) -> None:
        pass
