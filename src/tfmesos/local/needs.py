"""What a job asks of the embedded cluster, and whether one machine can give it."""

import os
from dataclasses import dataclass

from tfmesos.launcher import RunOptions
from tfmesos.local.errors import LocalRefusal

__all__ = ["LocalNeeds", "check_options"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalNeeds:
    """The sums over all tasks of a job: cpus, memory in MB, gpus, and the number of ports; and what tasks run in.

    `visible_cards`: the launcher's CUDA_VISIBLE_DEVICES, which its job is not to go beyond; None where it is not set.
    `image`: what the tasks run in, `in_docker` or not. `has_mounts`: they have volumes that need a mount. `has_shm`:
    they have a /dev/shm of their own.
    """

    cpus: float
    mem_mb: float
    gpus: int = 0
    ports: int
    visible_cards: str | None = None
    image: str | None = None
    in_docker: bool = False
    has_mounts: bool = False
    has_shm: bool = False

    @property
    def is_contained(self) -> bool:
        """Whether the agent itself makes what the tasks see, which only root can."""
        return not self.in_docker and (self.image is not None or self.has_mounts or self.has_shm)


def check_options(options: RunOptions) -> None:
    """Refuse, before anything starts, what the embedded cluster cannot serve.

    Which GPUs and which tools for containers there are is seen only when it starts. Raises `LocalRefusal`.
    """
    chosen = options.container
    if options.local_worker and any(job.gpus for job in options.jobs):
        raise LocalRefusal("a local worker is given no GPUs here: leave --local-worker out, or give a cluster with -m")
    for volume in chosen.volumes:
        if not os.path.exists(volume.source):
            raise LocalRefusal(f"volume '{volume.source}' does not exist on this machine")
    if os.geteuid() == 0 or chosen.is_docker:
        return
    remedy = "run this as root, or give a cluster with -m"
    if chosen.image is not None:
        raise LocalRefusal(f"image '{chosen.image}' needs root here: {remedy}, or leave it to docker with -C DOCKER")
    for volume in chosen.mounted:
        raise LocalRefusal(f"volume '{volume}' has to be mounted, which needs root: {remedy}")
    if chosen.shm_mb is not None:
        raise LocalRefusal(f"a /dev/shm of {chosen.shm_mb} MB has to be mounted, which needs root: {remedy}")
