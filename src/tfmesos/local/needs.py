"""What a job asks of the embedded cluster, and whether one machine can give it."""

import os
from dataclasses import dataclass

from tfmesos.launcher import RunOptions
from tfmesos.local.errors import LocalRefusal

__all__ = ["LocalNeeds", "check_options"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalNeeds:
    """The sums over all tasks of a job: cpus, memory in MB, gpus, and the number of ports.

    `visible_cards`: the launcher's CUDA_VISIBLE_DEVICES, which its job is not to go beyond; None where it is not set.
    """

    cpus: float
    mem_mb: float
    gpus: int = 0
    ports: int
    visible_cards: str | None = None


def check_options(options: RunOptions) -> None:
    """Refuse, before anything starts, what the embedded cluster cannot serve.

    Nothing is mounted, so a volume whose two paths are the same existing path is there already, but only as it is.
    Which GPUs there are is seen only when it starts. Raises `LocalRefusal`.
    """
    image = options.container.image
    if options.local_worker and any(job.gpus for job in options.jobs):
        raise LocalRefusal("a local worker is given no GPUs here: leave --local-worker out, or give a cluster with -m")
    if image is not None:
        raise LocalRefusal(f"the embedded cluster cannot run image '{image}': give a cluster with -m, or no image")
    for volume in options.container.volumes:
        if volume.source != volume.target:
            paths = f"{volume.source}:{volume.target}"
            raise LocalRefusal(f"volume '{paths}' must name one path twice: the embedded cluster mounts nothing")
        if volume.read_only:
            raise LocalRefusal(f"volume '{volume.source}' cannot be read-only: the embedded cluster mounts nothing")
        if not os.path.exists(volume.source):
            raise LocalRefusal(f"volume '{volume.source}' does not exist on this machine")
