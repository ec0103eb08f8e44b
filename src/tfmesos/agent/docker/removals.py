"""Containers that have ended are kept for a while, and then removed (Mesos 1.11: --docker_remove_delay)."""

from __future__ import annotations

import asyncio
import logging

from tfmesos.agent.docker.backoff import delays_s
from tfmesos.agent.docker.client import DockerClient
from tfmesos.agent.docker.errors import DockerError

_FIRST_RETRY_S = 1.0
_LONGEST_RETRY_S = 300.0
_log = logging.getLogger(__name__)


class Removals:
    """Those to come; an agent that ends leaves them to the next one, which finds the containers."""

    def __init__(self, client: DockerClient) -> None:
        self._client = client
        self._tasks: set[asyncio.Task[None]] = set()

    async def remove(self, name: str) -> None:
        """Now; what cannot be removed is tried again in the background. Never raises."""
        try:
            await self._client.remove(name)
        except DockerError as error:
            _log.debug("Docker container %s cannot be removed yet: %s", name, error)
            self.add(name, _FIRST_RETRY_S)

    def add(self, name: str, delay_s: float) -> None:
        """Remove the container after that long."""
        task = asyncio.get_running_loop().create_task(self._remove(name, delay_s), name=f"removal of {name}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Remove nothing any more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _remove(self, name: str, delay_s: float) -> None:
        await asyncio.sleep(delay_s)
        delays = delays_s(_FIRST_RETRY_S, _LONGEST_RETRY_S)
        while True:
            try:
                await self._client.remove(name)
                return
            except DockerError as error:
                _log.debug("Docker container %s cannot be removed yet: %s", name, error)
                await asyncio.sleep(next(delays))
