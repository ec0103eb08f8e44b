"""One container of the Docker engine, from the start of its client to its certain end."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import signal
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace

from tfmesos.agent.docker.backoff import delays_s
from tfmesos.agent.docker.client import DockerClient
from tfmesos.agent.docker.errors import DockerError, DockerHangs, DockerUnreachable, NoSuchObject
from tfmesos.agent.docker.inspection import Inspection, concealed
from tfmesos.agent.docker.options import NAME_VARIABLE
from tfmesos.supervision import TreeStatistics, marked_by, process_start_time, process_statistics

_FIRST_LOOK_S = 0.05
_LONGEST_LOOK_S = 1.0
_FIRST_RETRY_S = 0.1
_LONGEST_RETRY_S = 5.0
_START_S = 5.0
"""By then a container is there that an engine was about to start when it was lost."""
_log = logging.getLogger(__name__)


class DockerContainer:
    """What is known of it; `docker run` makes it, which supervision starts and follows.

    The engine may be down or come back at any time, with or without what it ran: an end is certain only when the engine
    says so, or when nothing of the container is left and no engine is there that could start it.
    """

    def __init__(self, client: DockerClient, name: str, secrets: Collection[str] = ()) -> None:
        """There need be none of this name yet, or ever. `secrets`: names of variables; nobody is told their values."""
        self.name = name
        self._secrets = secrets
        self._client = client
        self._first_process: tuple[int, int] | None = None
        self._started: asyncio.Future[Inspection] = asyncio.get_running_loop().create_future()
        self._stops: set[asyncio.Task[None]] = set()
        self._has_complained = False
        self._has_run = False
        self._start_until = 0.0

    def note(self, found: Inspection) -> None:
        """The engine says this of it."""
        start_time = process_start_time(found.pid) if found.pid else None
        if start_time is not None:
            self._first_process = found.pid, start_time
        self._has_run = self._has_run or found.has_started
        if found.has_started and not self._started.done():
            self._started.set_result(found)

    async def wait_started(self) -> Inspection:
        """Until its program has been started; its client has to run."""
        delays = delays_s(_FIRST_LOOK_S, _LONGEST_LOOK_S)
        while not self._started.done():
            await asyncio.wait([self._started], timeout=next(delays))
            try:
                await self._look()
            except NoSuchObject:
                pass
            except DockerError as error:
                self._complain(error)
        found = self._started.result()
        return replace(found, data=concealed(found.data, self._secrets))

    def statistics(self) -> TreeStatistics | None:
        """What its processes use; None before it was seen to run."""
        if self._first_process is None:
            return None
        pid, start_time = self._first_process
        return process_statistics(pid) if process_start_time(pid) == start_time else None

    def stop(self, grace_s: float) -> None:
        """SIGTERM, and SIGKILL after the grace, until `wait_gone` is called; again: can only shorten it."""
        stopping = asyncio.get_running_loop().create_task(self._stop(grace_s), name=f"stop of {self.name}")
        self._stops.add(stopping)
        stopping.add_done_callback(self._stops.discard)

    async def close(self) -> None:
        """Have the engine do nothing any more."""
        for stopping in self._stops:
            stopping.cancel()
        await asyncio.gather(*self._stops, return_exceptions=True)

    async def wait_gone(self) -> Inspection | None:
        """End what is left; returns when nothing of it runs, however long that lasts: how it ended, if that is known.

        Its client has ended.
        """
        await self.close()
        self._start_until = asyncio.get_running_loop().time() + _START_S
        delays = delays_s(_FIRST_RETRY_S, _LONGEST_RETRY_S)
        while True:
            try:
                found = await self._look()
                if not found.is_running:
                    return await self._ended(found)
                await self._client.stop(self.name, 0)  # its client was lost, and nobody waits for it
            except NoSuchObject:
                return None
            except DockerUnreachable as error:
                if await self._is_gone_without_engine(may_start=isinstance(error, DockerHangs)):
                    return None
            except DockerError as error:
                self._complain(error)
            await asyncio.sleep(next(delays))

    async def _ended(self, found: Inspection) -> Inspection | None:
        """One that was made and not started its client has left behind; it must not start any more."""
        if found.has_started:
            return found
        await self._client.remove(self.name)
        return None

    async def _look(self) -> Inspection:
        """What the engine says of it. Raises DockerError."""
        (found,) = await self._client.inspect(self.name)
        self.note(found)
        return found

    async def _stop(self, grace_s: float) -> None:
        """Its client may not have made it yet: it is asked for until the client has ended."""
        loop = asyncio.get_running_loop()
        until = loop.time() + grace_s
        delays = delays_s(_FIRST_RETRY_S, _LONGEST_RETRY_S)
        while True:
            try:
                await self._client.stop(self.name, math.ceil(max(until - loop.time(), 0.0)))
            except NoSuchObject:
                pass
            except DockerError as error:
                self._complain(error)
            await asyncio.sleep(next(delays))

    async def _is_gone_without_engine(self, *, may_start: bool) -> bool:
        """Its end is wanted by now: what is left is killed. `may_start`: an engine is there that may still start it."""
        left = await asyncio.to_thread(self._left)
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):  # an agent that is not root has to wait for the engine
                os.kill(pid, signal.SIGKILL)
        self._has_run = self._has_run or bool(left)
        now = asyncio.get_running_loop().time()
        if may_start or os.geteuid() != 0:  # who is not root does not find them
            self._start_until = now + _START_S
        return not left and (self._has_run or now > self._start_until)

    def _left(self) -> set[int]:
        """Its processes on this host, found by their environment, and the first one in any case."""
        found = {*marked_by(f"{NAME_VARIABLE}={self.name}")}
        if self._first_process is not None:
            pid, start_time = self._first_process
            found |= {pid} if process_start_time(pid) == start_time else set()
        return found

    def _complain(self, error: DockerError) -> None:
        """Once: it may last. That no engine answers is said by the client, for all containers."""
        if not self._has_complained and not isinstance(error, DockerUnreachable):
            self._has_complained = True
            _log.error("Docker container %s: %s; trying again until it is known what became of it", self.name, error)
