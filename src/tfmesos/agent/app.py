"""Composition of the agent."""

from __future__ import annotations

from collections.abc import Mapping

from tfmesos.agent.flags import AgentFlags
from tfmesos.discovery import Detector
from tfmesos.transport import Address


class Agent:
    """An agent of a Mesos master.

    With `listen` it serves on that address (of a unix socket, say) while its process id names the made-up
    host and port of its flags; `routes` then says where the master's made-up host and port really are.
    """

    def __init__(
        self,
        flags: AgentFlags,
        *,
        detector: Detector,
        listen: Address | None = None,
        routes: Mapping[tuple[str, int], Address] | None = None,
    ) -> None: ...

    async def start(self) -> None:
        """Lock the work directory, listen, and begin to look for the master.

        Errors: WorkDirInUse, AddressInUse, BadAgentFlags.
        """

    @property
    def address(self) -> Address:
        """Where the agent listens (the real port if 0 was asked for)."""

    async def wait_stopped(self) -> None:
        """Return when `close` was called; raise AgentStopped when the master ordered a shutdown."""

    async def close(self) -> None:
        """End all tasks, wait until nothing of them is left, stop listening, unlock. Idempotent."""
