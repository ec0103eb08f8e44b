"""What a program that the agent starts inherits from it, and an OCI runtime would replace by defaults of its own."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path

from tfmesos.agent.capabilities import CapabilitySets


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """The agent's own. `descriptors`: how many a program may have, the soft limit and the hard one."""

    effective: frozenset[str]
    inheritable: frozenset[str]
    bounding: frozenset[str]
    umask: int
    groups: tuple[int, ...]
    descriptors: tuple[int, int]

    @classmethod
    def read(cls, *, max_descriptors: int | None = None, proc: Path = Path("/proc")) -> Rights:
        """Of this process. `max_descriptors`: the soft limit of programs if it is not this process' own."""
        own = CapabilitySets.read(proc)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        return cls(
            effective=own.effective,
            inheritable=own.inheritable,
            bounding=own.bounding,
            umask=_umask(proc),
            groups=tuple(os.getgroups()),
            descriptors=(soft if max_descriptors is None else max_descriptors, hard),
        )


def _umask(proc: Path) -> int:
    """Of this process; os.umask can only be asked by changing it."""
    lines = (proc / "self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("Umask:")), 8)
