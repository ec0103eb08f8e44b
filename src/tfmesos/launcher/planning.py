"""What a run would submit, for `--dry-run`."""

from collections.abc import Mapping
from dataclasses import dataclass

from tfmesos.launcher.options import RunOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPlan:
    """One task as it would be launched; hosts and ports are made up as nothing has been offered yet."""

    job: str
    index: int
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    resources: str

    def to_text(self) -> str:
        """Several lines for a terminal, each value quoted as a shell would need it."""
        raise NotImplementedError


def plan(options: RunOptions) -> tuple[TaskPlan, ...]:
    """The tasks of a job in order of role and index, without a master. Raises JobSpecError as `JobRun.start` would."""
    raise NotImplementedError
