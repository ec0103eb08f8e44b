"""Which containers there are, and which is nested in which."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator

from tfmesos.agent.containerizer.container import Container
from tfmesos.agent.containerizer.identifiers import ContainerId


class ContainerTree:
    """All containers of an agent, those that ended included until they are forgotten, and launches under way."""

    def __init__(self) -> None:
        self._containers: dict[ContainerId, Container] = {}
        self._launches: dict[ContainerId, asyncio.Task[Container]] = {}
        self._nested: dict[ContainerId, set[ContainerId]] = {}

    def __iter__(self) -> Iterator[Container]:
        return iter(list(self._containers.values()))

    def find(self, container_id: ContainerId) -> Container | None:
        return self._containers.get(container_id)

    def children(self, container_id: ContainerId) -> list[Container]:
        """What was launched directly inside a container and is not forgotten."""
        nested = self._nested.get(container_id, ())
        return [self._containers[child] for child in nested if child in self._containers]

    def is_launching(self, container_id: ContainerId) -> bool:
        return container_id in self._launches

    def begin_launch(self, container_id: ContainerId, launch: asyncio.Task[Container]) -> None:
        """Note a launch; `launch` is what can be cancelled to end it."""
        self._launches[container_id] = launch
        if container_id.parent is not None:
            self._nested.setdefault(container_id.parent, set()).add(container_id)

    def end_launch(self, container_id: ContainerId) -> None:
        """It succeeded (then `add` came before) or failed."""
        del self._launches[container_id]
        if container_id not in self._containers:
            self._unlink(container_id)

    def add(self, container: Container) -> None:
        self._containers[container.id] = container
        if container.id.parent is not None:
            self._nested.setdefault(container.id.parent, set()).add(container.id)

    def remove(self, container_id: ContainerId) -> list[Container]:
        """Forget a container that has ended, with all that was nested in it: these, the innermost first."""
        removed = [found for child in list(self._nested.get(container_id, ())) for found in self.remove(child)]
        container = self._containers.pop(container_id, None)
        if container is not None:
            removed.append(container)
            self._unlink(container_id)
        return removed

    def abort(self, container_id: ContainerId) -> bool:
        """Cancel a launch that is under way, once: it may be ending what it has begun. False if there is none."""
        launch = self._launches.get(container_id)
        return launch is not None and not launch.done() and (launch.cancelling() > 0 or launch.cancel())

    async def wait_launched(self, container_id: ContainerId) -> None:
        """Return when no launch of this container is under way."""
        launch = self._launches.get(container_id)
        if launch is not None:
            await asyncio.wait([launch])

    def launches(self) -> list[asyncio.Task[Container]]:
        return list(self._launches.values())

    def end_children(self, container_id: ContainerId) -> Awaitable[None] | None:
        """End what is nested in a container; None if there is nothing (any more)."""
        return self._end_children(container_id) if self._living(container_id) else None

    async def _end_children(self, container_id: ContainerId) -> None:
        while living := self._living(container_id):
            for child in living:
                container = self._containers.get(child)
                if container is not None:
                    container.kill(0.0)
                else:
                    self.abort(child)
            for child in living:
                await self._gone(child)

    async def _gone(self, container_id: ContainerId) -> None:
        launch = self._launches.get(container_id)
        if launch is not None:
            await asyncio.wait([launch])
        elif container_id in self._containers:
            await self._containers[container_id].wait()

    def _living(self, container_id: ContainerId) -> list[ContainerId]:
        nested = self._nested.get(container_id, ())
        return [child for child in nested if child in self._launches or self._containers[child].termination is None]

    def _unlink(self, container_id: ContainerId) -> None:
        if container_id.parent is None:
            return
        siblings = self._nested.get(container_id.parent, set())
        siblings.discard(container_id)
        if not siblings:
            self._nested.pop(container_id.parent, None)
