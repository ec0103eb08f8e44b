"""Containers of the engine that an agent before has left (Mesos 1.11: --docker_kill_orphans)."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import time
from collections.abc import Collection, Mapping, Sequence

from tfmesos.agent.docker.client import DockerClient
from tfmesos.agent.docker.errors import DockerError, NoSuchObject
from tfmesos.agent.docker.inspection import Inspection
from tfmesos.agent.docker.options import MAPPED_DIRECTORY, container_name
from tfmesos.agent.docker.removals import Removals
from tfmesos.agent.flags import AgentFlags

_BATCH = 100
_log = logging.getLogger(__name__)


class Leftovers:
    """Only those of this agent: their sandbox is in its work directory. Several agents may share an engine."""

    def __init__(self, client: DockerClient, removals: Removals, flags: AgentFlags) -> None:
        self._client = client
        self._removals = removals
        self._flags = flags
        self._work_dir = os.path.realpath(flags.work_dir)
        self._found: dict[str, Inspection] = {}

    async def find(self) -> Mapping[str, Inspection]:
        """All, running or ended, by name. Never raises."""
        try:
            names = await self._client.names(container_name(""))
            for batch in (names[start : start + _BATCH] for start in range(0, len(names), _BATCH)):
                await self._look(batch)
        except DockerError as error:
            _log.error("containers of the agent before cannot be looked for: %s", error)
        return dict(self._found)

    async def remove_all_but(self, names: Collection[str]) -> None:
        """Stop and remove what runs, remove in time what has ended. Never raises."""
        others = {name: found for name, found in self._found.items() if name not in names}
        self._found.clear()
        running = [name for name, found in others.items() if found.is_running]
        for name in others.keys() - running:
            self._removals.add(name, self._remaining_s(others[name]))
        if self._flags.docker_kill_orphans:
            await asyncio.gather(*map(self._end, running))
            return
        for name in running:
            _log.warning("Docker container %s belongs to no task; --docker_kill_orphans is off: it goes on", name)

    async def _look(self, names: Sequence[str]) -> None:
        """Many at once: each question is a process. One that goes meanwhile spoils the answer for all."""
        try:
            found = await self._client.inspect(*names)
        except NoSuchObject:
            for name in names if len(names) > 1 else ():
                await self._look([name])
            return
        for one in found:
            if one.mounts.get(MAPPED_DIRECTORY, "").startswith(f"{self._work_dir}/"):
                self._found[one.name] = one

    async def _end(self, name: str) -> None:
        _log.info("Docker container %s belongs to no task: it is stopped and removed", name)
        try:
            await self._client.stop(name, math.ceil(self._flags.docker_stop_timeout))
        except DockerError as error:
            _log.warning("Docker container %s cannot be stopped yet: %s", name, error)
        await self._removals.remove(name)

    def _remaining_s(self, found: Inspection) -> float:
        kept_s = max(time.time() - found.finished_s, 0.0) if found.finished_s is not None else 0.0
        return max(self._flags.docker_remove_delay - kept_s, 0.0)
