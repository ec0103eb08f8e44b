"""What a container is made of beside its process, and unmade of when that has ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tfmesos.agent.containerizer.config import ContainerConfig, RuntimeName
from tfmesos.agent.containerizer.identifiers import ContainerId
from tfmesos.agent.containerizer.roots import Roots
from tfmesos.agent.containerizer.runtimes import ContainerRuntime
from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.isolators import Isolation, Limitation

_MAKERS = {
    RuntimeName.OCI: ("an OCI runtime", "the --isolation of that agent"),
    RuntimeName.DOCKER: ("the Docker engine", "docker in --containerizers"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Of all containers of an agent; each part may be one that does nothing."""

    isolation: Isolation = field(default_factory=Isolation)
    runtimes: Mapping[RuntimeName, ContainerRuntime] = field(default_factory=dict)
    """Without HOST, where there is nothing beside the process."""
    roots: Roots = field(default_factory=Roots)

    def runtime_of(self, config: ContainerConfig) -> ContainerRuntime | None:
        """None: it is a plain program on the host."""
        return self.runtimes.get(config.runtime)

    @property
    def is_active(self) -> bool:
        """Whether `cleanup` does anything for any container."""
        return self.isolation.is_active or bool(self.runtimes)

    def check(self, configs: Iterable[ContainerConfig]) -> None:
        """Raises BadAgentFlags if some are of a runtime that is not there: they could be neither followed nor ended."""
        for config in configs:
            if config.runtime is not RuntimeName.HOST and config.runtime not in self.runtimes:
                maker, remedy = _MAKERS[config.runtime]
                raise BadAgentFlags(
                    f"container {config.id} of the agent before is of {maker}: start with {remedy}, and with "
                    "--recover=cleanup if it is to be ended"
                )

    async def recover(
        self, known: Mapping[ContainerId, ContainerConfig], orphans: Mapping[ContainerId, ContainerConfig]
    ) -> None:
        """As Isolation.recover; what belongs to neither is removed. Raises IsolationFailed."""
        await self.isolation.recover(known, orphans.keys())
        for runtime in self.runtimes.values():
            await runtime.recover(known, orphans)
        await self.roots.recover({*known, *orphans})

    async def cleanup(self, config: ContainerConfig) -> Limitation | None:
        """Nothing is left of a container when this returns; which limit it has passed.

        Idempotent, never raises; also for what was prepared in part only. Comes when nothing nested in it is left.
        """
        runtime = self.runtime_of(config)
        passed = await runtime.cleanup(config.id) if runtime is not None else None
        if self.isolation.is_active:
            passed = await self.isolation.cleanup(config.id) or passed
        await self.roots.remove(config.id)
        return passed

    async def close(self) -> None:
        """Do nothing for containers any more; those that go on are the next agent's."""
        await self.isolation.close()
        for runtime in self.runtimes.values():
            await runtime.close()
        await self.roots.close()
