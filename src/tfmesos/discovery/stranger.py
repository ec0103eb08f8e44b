"""What answers where a master was expected."""

import asyncio
from enum import Enum

from tfmesos.discovery.address_text import DEFAULT_PORT
from tfmesos.transport import Address, HttpConnection, TransportError

_TIMEOUT_S = 5.0


class Stranger(Enum):
    """Answers HTTP and is no master."""

    AGENT = "a Mesos agent"
    WEB_SERVER = "another web server"


def stranger_text(address: Address, stranger: Stranger) -> str:
    """For who has taken it for a master."""
    return f"{address} answers, but it is {stranger.value}, not a master (masters listen on {DEFAULT_PORT} by default)"


async def find_stranger(address: Address) -> Stranger | None:
    """Who answers there; None if it is a master or cannot be told.

    Mesos 1.11: /health asks for no credentials, and a path that begins with the name of a process is that process':
    the master's is `master`, the agent's `slave(1)`; of each other they know nothing (404).
    """
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            is_agent = await _is_healthy(address, "slave(1)")
            is_master = await _is_healthy(address, "master")
    except (TransportError, TimeoutError):
        return None
    if is_master == is_agent:  # neither, or somebody who says 200 to everything
        return Stranger.WEB_SERVER
    return Stranger.AGENT if is_agent else None


async def _is_healthy(address: Address, process: str) -> bool:
    async with await HttpConnection.open(address, _TIMEOUT_S) as connection:
        return (await connection.request("GET", f"/{process}/health")).status == 200
