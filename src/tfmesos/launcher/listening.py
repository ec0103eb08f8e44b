"""Waiting until the servers of a gang accept connections: a session that dials earlier waits a second longer."""

import asyncio
from collections.abc import Iterable

from tfmesos.launcher.addresses import TaskAddress

FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 0.3
ATTEMPT_TIMEOUT_S = 5.0


async def wait_listening(addresses: Iterable[TaskAddress]) -> None:
    """Return when each address has accepted a connection. Tries for ever: whoever calls knows when to give up."""
    async with asyncio.TaskGroup() as group:
        for address in addresses:
            group.create_task(_wait_for(address))


async def _wait_for(address: TaskAddress) -> None:
    pause_s = FIRST_PAUSE_S
    while not await _accepts(address):
        await asyncio.sleep(pause_s)
        pause_s = min(LONGEST_PAUSE_S, pause_s * 1.5)


async def _accepts(address: TaskAddress) -> bool:
    try:
        async with asyncio.timeout(ATTEMPT_TIMEOUT_S):
            _, writer = await asyncio.open_connection(address.host, address.port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
