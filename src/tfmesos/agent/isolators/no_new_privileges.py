"""linux/nnp: no program of a container gets more rights than it starts with (Mesos 1.11: linux/nnp.cpp)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfmesos.agent.isolators.isolator import LaunchEdits, Shares, ViewIsolator
from tfmesos.agent.isolators.view import View

if TYPE_CHECKING:
    from tfmesos.agent.containerizer.config import ContainerConfig


class NoNewPrivilegesIsolator(ViewIsolator):
    """Set-user-id programs and file capabilities give nothing (kernel: no_new_privs.rst)."""

    name = "linux/nnp"

    def wants_view(self, config: ContainerConfig) -> bool:
        """All do."""
        return True

    async def prepare(self, config: ContainerConfig, shares: Shares) -> LaunchEdits:
        """The same for all."""
        return LaunchEdits(view=View(no_new_privileges=True))
