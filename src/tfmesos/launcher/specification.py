"""What a job is: roles with a number of tasks each, checked when it is made."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

from tfmesos.launcher.errors import JobSpecError

NAME_LIMIT = 128
"""Bytes of a role's name: it is a part of Mesos' task ids, which end at 255 bytes."""

SMALLEST = 0.0005
LARGEST = 2.0**63 / 1000
"""Mesos counts in thousandths: below the first an amount rounds to nothing, from the second on it overflows."""


@dataclass(frozen=True, slots=True)
class Job:
    """A role of the cluster (`ps`, `worker`, `chief`, …) and what each of its tasks gets.

    `num` is one more than the last index, `start` the first one. `mem` is in MB. `cmd` as a text is a shell line,
    as a list it is the program and its arguments; without one every task runs a TensorFlow server.
    `num=0` means that the role is absent. Raises JobSpecError.
    """

    name: str
    num: int
    cpus: float = 1.0
    mem: float = 1024.0
    gpus: float = 0
    cmd: str | Sequence[str] | None = None
    start: int = 0

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_counts(self)
        for what in ("cpus", "mem", "gpus"):
            _check_amount(self.name, what, getattr(self, what))
        if self.gpus != int(self.gpus):
            raise JobSpecError(f"job {self.name!r}: gpus is {self.gpus}, but a card cannot be shared")
        object.__setattr__(self, "gpus", int(self.gpus))
        object.__setattr__(self, "cmd", _checked_command(self.name, self.cmd))
        if self.num and not self.cpus and not self.mem:
            raise JobSpecError(f"job {self.name!r}: a task needs some cpus or mem, both are 0")

    @property
    def indices(self) -> range:
        """The indices of its tasks, in order."""
        return range(self.start, self.num)

    @classmethod
    def from_any(cls, value: object) -> "Job":
        """A Job from itself or from a dict with the same names. Raises JobSpecError."""
        if isinstance(value, Job):
            return value
        if not isinstance(value, Mapping):
            raise JobSpecError(f"a job is a Job or a dict, not {type(value).__name__}: {value!r}")
        known = [field.name for field in fields(cls)]
        for name in value:
            if name not in known:
                raise JobSpecError(f"a job has no {name!r}; it has {', '.join(known)}")
        for name in ("name", "num"):
            if name not in value:
                raise JobSpecError(f"a job needs a {name!r}: {dict(value)!r}")
        return cls(**value)  # __post_init__ checks each of them


def jobs_from(value: object) -> tuple[Job, ...]:
    """The roles of a cluster from one Job, one dict, or a list of either; roles without tasks are left out.

    Raises JobSpecError.
    """
    items = [value] if isinstance(value, Job | Mapping) else value
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise JobSpecError(f"jobs are a Job, a dict, or a list of either, not {type(value).__name__}: {value!r}")
    jobs = tuple(Job.from_any(item) for item in items)
    seen: set[str] = set()
    for job in jobs:
        if job.name in seen:
            raise JobSpecError(f"job {job.name!r} is given twice; each role has its own name")
        seen.add(job.name)
    present = tuple(job for job in jobs if job.num)
    if not present:
        raise JobSpecError("a job with no tasks: ask for at least one")
    return present


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise JobSpecError(f"a job's name is a text, not {type(name).__name__}: {name!r}")
    if not name or name in (".", ".."):
        raise JobSpecError(f"a job's name cannot be {name!r}")
    # Mesos 1.11: ids hold no control characters and no slash of either kind.
    if any(ord(char) < 32 or ord(char) == 127 or char in "/\\" for char in name):
        raise JobSpecError(f"the job's name {name!r} must not hold control characters, '/' or '\\'")
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise JobSpecError(f"the job's name {name!r} is not UTF-8") from None
    if size > NAME_LIMIT:
        raise JobSpecError(f"the job's name {name[:20] + '…'!r} has {size} bytes; at most {NAME_LIMIT} are allowed")


def _check_counts(job: Job) -> None:
    for what in ("num", "start"):
        value = getattr(job, what)
        if isinstance(value, bool) or not isinstance(value, int):
            raise JobSpecError(f"job {job.name!r}: {what} is a whole number, not {value!r}")
        if value < 0:
            raise JobSpecError(f"job {job.name!r}: {what} is {value}; it cannot be negative")
    if job.num and job.start >= job.num:
        raise JobSpecError(
            f"job {job.name!r} has no tasks: start is {job.start}, num is {job.num}; start must be below num"
        )


def _check_amount(name: str, what: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise JobSpecError(f"job {name!r}: {what} is a number, not {value!r}")
    if value < 0:
        raise JobSpecError(f"job {name!r}: {what} is {value}; it cannot be negative")
    if value and not SMALLEST <= value < LARGEST:
        raise JobSpecError(f"job {name!r}: {what} is {value}; Mesos takes 0.001 to {LARGEST:.2g}")


def _checked_command(name: str, cmd: object) -> str | tuple[str, ...] | None:
    if cmd is None:
        return None
    parts = (cmd,) if isinstance(cmd, str) else tuple(cmd) if isinstance(cmd, list | tuple) else ()
    if not parts or not all(isinstance(part, str) for part in parts) or not parts[0]:
        raise JobSpecError(f"job {name!r}: cmd is a shell line or a list of arguments, not {cmd!r}")
    for part in parts:
        check_text(part, f"job {name!r}: the argument")
    return cmd if isinstance(cmd, str) else parts


def check_text(text: str, what: str) -> None:
    """Refuse what cannot be an argument or a variable: what is not UTF-8 (Mesos carries only that) or holds NUL."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise JobSpecError(f"{what} {text!r} is not UTF-8; Mesos carries UTF-8 only") from None
    if "\0" in text:
        raise JobSpecError(f"{what} {text!r} holds a NUL character")
