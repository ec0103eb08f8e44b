"""The agent of the embedded cluster: this machine, and of its GPUs those that the job asks for."""

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tfmesos.agent import Agent, AgentFlags, BadAgentFlags
from tfmesos.agent.gpu import GpuSupply, find_gpus
from tfmesos.discovery import build_detector
from tfmesos.launcher import NeverFits
from tfmesos.local.gpus import allot
from tfmesos.local.locks import NameLocks
from tfmesos.local.needs import LocalNeeds
from tfmesos.transport import Address

__all__ = ["AgentStart"]

_ENFORCED = "cgroups/devices,gpu/nvidia"
_COUNTED = "posix/cpu,posix/mem,posix/gpus"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStart:
    """Starts the agent. `master`: the socket that the made-up address in the flags stands for."""

    flags: AgentFlags
    master: str
    listen: Address
    routes: Mapping[tuple[str, int], Address]
    daemons: contextlib.AsyncExitStack

    async def start(self, needs: LocalNeeds, locks: NameLocks) -> tuple[str, ...]:
        """Find and hold the GPUs, isolate them as well as can be; what the user should know of that.

        Raises NeverFits, AgentError.
        """
        if not needs.gpus:
            await self._start(self.flags)
            return ()
        supply = await allot(await self._find(needs), needs, locks)
        why = "only root can keep tasks from opening others"
        if os.geteuid() == 0:
            try:
                await self._start(replace(self.flags, isolation=_ENFORCED), supply)
                return ()
            except BadAgentFlags as error:
                why = str(error)
        await self._start(replace(self.flags, isolation=_COUNTED), supply)
        return (f"tasks are told their GPUs by CUDA_VISIBLE_DEVICES only: {why}",)

    async def _find(self, needs: LocalNeeds) -> GpuSupply:
        try:
            return await find_gpus(replace(self.flags, isolation=_COUNTED))
        except BadAgentFlags as error:
            text = f"the job asks for {needs.gpus} gpus, but none of this machine can be used: {error}"
            raise NeverFits(text) from error

    async def _start(self, flags: AgentFlags, supply: GpuSupply | None = None) -> None:
        detector = build_detector(f"unix://{self.master}")
        self.daemons.push_async_callback(detector.close)
        agent = Agent(flags, detector=detector, listen=self.listen, routes=self.routes, gpus=supply)
        await agent.start()
        self.daemons.push_async_callback(agent.close, leaves_nothing=True)
