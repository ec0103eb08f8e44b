"""Who leads, and how it is reached."""

import os
from dataclasses import dataclass

from tfmesos.transport import NO_PID, Address, Pid, TcpAddress, UnixAddress

EMBEDDED_MASTER_PID = Pid("master", "127.0.0.1", 5050)
"""What the master behind a unix socket calls itself: a made-up address, routed to the socket by its peers."""

EMBEDDED_AGENT_SOCKET = "agent.sock"


@dataclass(frozen=True, slots=True)
class Leader:
    """The leading master: where its HTTP server listens, and its libprocess name (None without an IPv4 address)."""

    address: Address
    pid: Pid | None


def master_pid(leader: Leader) -> Pid:
    """The libprocess name an agent registers with; NO_PID where the leader has none."""
    return leader.pid or NO_PID


def agent_address(leader: Leader, host: str, port: int) -> Address:
    """Where an agent that calls itself `host:port` is reached: beside the master's socket on an embedded cluster."""
    if isinstance(leader.address, UnixAddress):
        return UnixAddress(os.path.join(os.path.dirname(leader.address.path), EMBEDDED_AGENT_SOCKET))
    return TcpAddress(host, port)
