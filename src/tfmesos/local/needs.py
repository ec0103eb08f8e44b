"""What a job asks of the embedded cluster, and whether one machine can give it."""

import os
from collections.abc import Iterable
from dataclasses import dataclass

from tfmesos.launcher import NeverFits, Volume
from tfmesos.local.errors import LocalRefusal

__all__ = ["LocalNeeds", "check_needs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalNeeds:
    """The sums over all tasks of a job: cpus, memory in MB, gpus, and the number of ports."""

    cpus: float
    mem_mb: float
    gpus: float = 0
    ports: int


def check_needs(needs: LocalNeeds, *, image: str | None, volumes: Iterable[Volume]) -> None:
    """Refuse, before anything starts, what the embedded cluster cannot serve.

    Nothing is mounted, so a volume whose two paths are the same existing path is there already, but only as it is.
    Raises `LocalRefusal`, and `NeverFits` for cards.
    """
    if needs.gpus:
        raise NeverFits(
            f"the job asks for {needs.gpus:g} gpus, but the embedded cluster offers none: give a cluster with -m"
        )
    if image is not None:
        raise LocalRefusal(f"the embedded cluster cannot run image '{image}': give a cluster with -m, or no image")
    for volume in volumes:
        if not volume.is_identity:
            paths = f"{volume.source}:{volume.target}"
            raise LocalRefusal(f"volume '{paths}' must name one path twice: the embedded cluster mounts nothing")
        if volume.read_only:
            raise LocalRefusal(f"volume '{volume.source}' cannot be read-only: the embedded cluster mounts nothing")
        if not os.path.exists(volume.source):
            raise LocalRefusal(f"volume '{volume.source}' does not exist on this machine")
