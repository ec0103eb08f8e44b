"""What the rest of the program sees of a task: frozen views, never the launcher's own state."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """One task of a job at one moment.

    `state` is Mesos' name (`TASK_RUNNING`); before it is placed `agent` and `address` are empty.
    """

    job: str
    index: int
    address: str
    agent: str
    state: str

    @property
    def target(self) -> str:
        """The key of TFMesos: `/job:ps/task:0`."""
        return f"/job:{self.job}/task:{self.index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFailure:
    """Why one task ended as it should not have, and what it said last."""

    job: str
    index: int
    agent: str
    state: str
    reason: str
    source: str
    message: str
    exit_status: int
    last_lines: tuple[str, ...] = ()
    log_path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a job ended. `text` is for the user and may have many lines; empty when all went well."""

    exit_status: int
    text: str = ""
    failure: TaskFailure | None = None
    never_fits: bool = False
