"""What the gang's core needs to know of a run."""

from dataclasses import dataclass

from tfmesos.launcher.addresses import TaskAddress
from tfmesos.launcher.specification import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class GangOptions:
    """`local_address` is where the task on the launcher's own machine listens, if there is one."""

    jobs: tuple[Job, ...]
    role: str = "*"
    embedded: bool = False
    fail_fast: bool = False
    time_limit_s: float | None = None
    grace_s: float = 3.0
    local_address: TaskAddress | None = None
    image: str | None = None
