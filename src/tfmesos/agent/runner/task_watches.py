"""Looks after command tasks as their checks and health checks say: the shell of the room `checks`."""

from __future__ import annotations

import asyncio
import logging
import uuid
from functools import partial
from typing import Protocol

from tfmesos.agent.containerizer import (
    Container,
    ContainerConfig,
    ContainerId,
    Containerizer,
    ContainerKind,
    LaunchFailed,
)
from tfmesos.agent.core import TaskRecord
from tfmesos.checks import TaskChecks
from tfmesos.wire import mesos_pb2

_log = logging.getLogger(__name__)


class Findings(Protocol):
    """Hears what checks find; none of these waits."""

    def checked(self, record: TaskRecord, status: mesos_pb2.CheckStatusInfo) -> None:
        """A check has another result."""

    def health_told(self, record: TaskRecord, healthy: bool) -> None:
        """A health check has succeeded for the first time, or failed."""

    def unhealthy(self, record: TaskRecord) -> None:
        """A health check has failed too often."""


class TaskWatches:
    """The checks of all tasks that have some."""

    def __init__(self, containerizer: Containerizer, host: str) -> None:
        self._containerizer = containerizer
        self._host = host
        self._watches: dict[str, TaskChecks] = {}  # by container
        self._closing: set[asyncio.Task[None]] = set()

    def start(self, record: TaskRecord, findings: Findings) -> None:
        """Begin; the task's program runs."""
        container_id = record.executor.container_id
        watch = self._watches[container_id] = TaskChecks(
            record.info,
            host=_address_of(record.task) or self._host,
            run_command=partial(self._run, ContainerId(container_id)),
            on_check=lambda status: findings.checked(record, status),
            on_health=lambda healthy: findings.health_told(record, healthy),
            on_unhealthy=lambda: findings.unhealthy(record),
        )
        watch.start()

    def stop(self, record: TaskRecord) -> None:
        """Look no longer. Idempotent."""
        watch = self._watches.pop(record.executor.container_id, None)
        if watch is not None:
            watch.pause()
            closing = asyncio.ensure_future(watch.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Stop all and wait until no look is under way."""
        for watch in self._watches.values():
            watch.pause()
        await asyncio.gather(*(watch.close() for watch in self._watches.values()), *self._closing)
        self._watches.clear()

    async def _run(self, parent: ContainerId, command: mesos_pb2.CommandInfo) -> int:
        """Run a command inside the task's container until it ends; when cancelled, end it."""
        container_id = ContainerId(str(uuid.uuid4()), parent)
        config = ContainerConfig(
            id=container_id, kind=ContainerKind.NESTED, command=command, directory="", is_debug=True
        )
        try:
            container = await self._containerizer.launch(config)
        except LaunchFailed as error:
            raise OSError(str(error)) from error
        try:
            await container.open_gate()
            ended = await container.wait()
        finally:
            ending = asyncio.ensure_future(self._end(container))
            self._closing.add(ending)
            ending.add_done_callback(self._closing.discard)
            await asyncio.shield(ending)  # it goes on if this is cancelled once more, by the time limit and by `stop`
        if ended.wait_status is None:
            raise OSError(ended.message or "the command was lost")
        return ended.wait_status

    async def _end(self, container: Container) -> None:
        """Nothing is left of the look afterwards. A sandbox that cannot be removed is no fault of the task."""
        if container.termination is None:
            container.kill(0.0)
        await container.wait()
        try:
            await self._containerizer.remove(container)
        except OSError as error:
            _log.warning("sandbox of check %s cannot be removed: %s", container.id, error)


def _address_of(task: mesos_pb2.Task) -> str | None:
    """Where the task said that it runs: a container may have an address of its own."""
    for status in reversed(task.statuses):
        for network in status.container_status.network_infos:
            for address in network.ip_addresses:
                return address.ip_address
    return None
