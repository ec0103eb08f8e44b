"""The agent of the embedded cluster: this machine, and of its GPUs those that the job asks for."""

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tfmesos.agent import Agent, AgentFlags, BadAgentFlags
from tfmesos.agent.gpu import GpuSupply, find_gpus
from tfmesos.agent.images import BadReference, Reference
from tfmesos.discovery import build_detector
from tfmesos.launcher import NeverFits
from tfmesos.local.agent_flags import contained, counted, enforced, volume_directory
from tfmesos.local.errors import LocalRefusal
from tfmesos.local.gpus import allot
from tfmesos.local.locks import NameLocks
from tfmesos.local.needs import LocalNeeds
from tfmesos.transport import Address

__all__ = ["AgentStart"]

_ENGINE = "start it, join the group of its socket, or name its socket by MESOS_DOCKER_SOCKET"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStart:
    """Starts the agent. `master`: the socket that the made-up address in the flags stands for."""

    flags: AgentFlags
    master: str
    listen: Address
    routes: Mapping[tuple[str, int], Address]
    daemons: contextlib.AsyncExitStack

    async def start(self, needs: LocalNeeds, locks: NameLocks) -> tuple[str, ...]:
        """Find and hold the GPUs, isolate tasks as well as can be; what the user should know of that.

        Raises NeverFits, LocalRefusal, AgentError.
        """
        _check_image(needs)
        supply = await allot(await self._find(needs), needs, locks) if needs.gpus else None
        flags = contained(self.flags, needs)
        try:
            if needs.is_contained or supply is None:
                await self._start(flags, supply)
                return ()
            return await self._start_with_gpus(flags, supply)
        except BadAgentFlags as error:
            if needs.in_docker and error.__cause__ is not None:
                raise LocalRefusal(f"the Docker engine cannot be used: {error.__cause__} ({_ENGINE})") from error
            if needs.image is not None:
                raise LocalRefusal(f"image '{needs.image}' cannot be used on this machine: {error}") from error
            if needs.is_contained:
                raise LocalRefusal(f"nothing can be mounted for tasks on this machine: {error}") from error
            raise

    async def _start_with_gpus(self, flags: AgentFlags, supply: GpuSupply) -> tuple[str, ...]:
        why = "only root can keep tasks from opening others"
        if os.geteuid() == 0:
            try:
                await self._start(enforced(flags), supply)
                return ()
            except BadAgentFlags as error:
                why = str(error)
        await self._start(counted(flags), supply)
        return (f"tasks are told their GPUs by CUDA_VISIBLE_DEVICES only: {why}",)

    async def _find(self, needs: LocalNeeds) -> GpuSupply:
        try:
            supply = await find_gpus(counted(self.flags))
        except BadAgentFlags as error:
            text = f"the job asks for {needs.gpus} gpus, but none of this machine can be used: {error}"
            raise NeverFits(text) from error
        return replace(supply, volume_directory=volume_directory(os.environ))

    async def _start(self, flags: AgentFlags, supply: GpuSupply | None = None) -> None:
        detector = build_detector(f"unix://{self.master}")
        self.daemons.push_async_callback(detector.close)
        agent = Agent(flags, detector=detector, listen=self.listen, routes=self.routes, gpus=supply)
        await agent.start()
        self.daemons.push_async_callback(agent.close, leaves_nothing=True)


def _check_image(needs: LocalNeeds) -> None:
    """A name that can be none is told before a task fails of it. Raises LocalRefusal."""
    if needs.image is not None:
        try:
            Reference.parse(needs.image)
        except BadReference as error:
            raise LocalRefusal(str(error)) from error
