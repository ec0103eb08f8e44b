"""Waiting until the servers of a gang accept connections: a session that dials earlier waits a second longer."""

import asyncio
from collections.abc import Callable, Sequence

from tfmesos.launcher.addresses import TaskAddress

FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 0.3
ATTEMPT_TIMEOUT_S = 5.0


async def wait_listening(current: Callable[[], Sequence[TaskAddress]]) -> None:
    """Return when each address has accepted a connection; begins anew when a gang was placed anew meanwhile.

    Tries for ever: whoever calls knows when to give up.
    """
    while True:
        addresses = current()
        await _wait_for_all(addresses, current)
        if current() == addresses:
            return


async def _wait_for_all(addresses: Sequence[TaskAddress], current: Callable[[], Sequence[TaskAddress]]) -> None:
    async with asyncio.TaskGroup() as group:
        for address in addresses:
            group.create_task(_wait_for(address, lambda: current() == addresses))


async def _wait_for(address: TaskAddress, is_current: Callable[[], bool]) -> None:
    pause_s = FIRST_PAUSE_S
    while is_current() and not await _accepts(address):
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
