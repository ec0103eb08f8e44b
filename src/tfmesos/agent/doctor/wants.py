"""What an agent with certain flags needs. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.isolators import parse_isolation
from tfmesos.agent.isolators.container_cgroups import FREEZER
from tfmesos.agent.isolators.table import GPU_NVIDIA, GPU_POSIX, TABLE

CONTROLLERS = (FREEZER, *(entry.controller for entry in TABLE if entry.controller is not None))
"""Of cgroups: all that some flag makes use of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wants:
    """`gpus`: some of GPUs; `isolated_gpus`: no container opens another's; `controllers`: these of cgroups.

    `views`: containers that see something else than the host; `images`; `docker`: those of its engine.
    """

    root: bool
    gpus: bool
    isolated_gpus: bool
    controllers: frozenset[str]
    views: bool
    images: bool
    docker: bool

    @classmethod
    def of(cls, flags: AgentFlags) -> Self:
        """What these flags say."""
        names = parse_isolation(flags.isolation)
        entries = names.entries()
        controllers = {entry.controller for entry in entries if entry.controller is not None}
        if GPU_NVIDIA in names:
            controllers.add("devices")
        if flags.launcher == "linux":
            controllers.add(FREEZER)
        return cls(
            root=names.has_all_cgroups or bool(controllers) or any(entry.needs_root for entry in entries),
            gpus=GPU_NVIDIA in names or GPU_POSIX in names,
            isolated_gpus=GPU_NVIDIA in names,
            controllers=frozenset(controllers),
            views=names.has_views,
            images=bool(flags.image_providers),
            docker="docker" in flags.containerizers,
        )
