"""Everything a run of a job is told, in one frozen object."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tfmesos.launcher.containers import Containerizer, ContainerOptions
from tfmesos.launcher.errors import JobSpecError
from tfmesos.launcher.specification import Job, check_text

VISIBLE_CARDS = "CUDA_VISIBLE_DEVICES"
"""The variable that says which GPUs a program sees (CUDA)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraConfig:
    """Shell commands around every task.

    `initializer` runs before it, and its failure is the task's; `finalizer` after it, also when it is killed.
    """

    initializer: str | None = None
    finalizer: str | None = None

    @classmethod
    def from_mapping(cls, values: Mapping[str, object]) -> "ExtraConfig":
        """From `{"initializer": …, "finalizer": …}`. Raises JobSpecError."""
        for name in values:
            if name not in ("initializer", "finalizer"):
                raise JobSpecError(f"extra_config: {name!r} is unknown; initializer and finalizer are allowed")
        found: dict[str, str | None] = {}
        for name in ("initializer", "finalizer"):
            value = values.get(name)
            if value is not None and not isinstance(value, str):
                raise JobSpecError(f"extra_config: {name} is a shell command, not {value!r}")
            if value is not None:
                check_text(value, f"extra_config: the {name}")
            found[name] = value or None
        return cls(**found)

    @classmethod
    def read(cls, path: str) -> "ExtraConfig":
        """From a JSON file. Raises JobSpecError."""
        try:
            values = json.loads(Path(path).read_text("utf-8"))
        except OSError as error:
            raise JobSpecError(f"cannot read the extra_config {path!r}: {error.strerror}") from error
        except ValueError as error:
            raise JobSpecError(f"the extra_config {path!r} is no JSON: {error}") from error
        if not isinstance(values, dict):
            raise JobSpecError(f"the extra_config {path!r} must hold a JSON object with initializer and finalizer")
        return cls.from_mapping(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What to run and how.

    `environment` is what the user set for the tasks (`--env`). `inherited` is the launcher's whole environment as
    bytes (`os.environb`): the launcher passes on all of it on an embedded cluster, a named list elsewhere, nothing to
    images. `directory` is where the launcher is, and so where tasks start (see ContainerOptions.directory); None leaves
    them in their sandbox. `log_tasks` holds the (role, index)
    whose output is shown; None shows all. `embedded` tells that the cluster is ours alone, so that what does not fit
    never will. With `checkpoint` the tasks go on while their agent is restarted. With `local_worker` worker 0 runs
    here, in the foreground.
    """

    jobs: tuple[Job, ...]
    framework_name: str
    role: str = "*"
    user: str | None = None
    container: ContainerOptions = field(default_factory=ContainerOptions)
    environment: tuple[tuple[str, str], ...] = ()
    inherited: Mapping[bytes, bytes] = field(default_factory=dict)
    directory: str | None = None
    placeholders: bool = True
    extra_config: ExtraConfig = field(default_factory=ExtraConfig)
    log_tasks: frozenset[tuple[str, int]] | None = None
    quiet: bool = False
    fail_fast: bool = False
    checkpoint: bool = False
    time_limit_s: float | None = None
    embedded: bool = False
    local_worker: bool = False
    protocol: str = "grpc"

    @property
    def visible_cards(self) -> str | None:
        """The GPUs that the launcher's own surroundings leave to it; None: all."""
        value = self.inherited.get(VISIBLE_CARDS.encode())
        return None if value is None else value.decode(errors="replace")

    def __post_init__(self) -> None:
        """Refuse what Mesos would. Raises JobSpecError."""
        _check_line(self.framework_name, "the framework's name")
        _check_role(self.role)
        if self.user is not None:
            _check_line(self.user, "the user")
        if self.container.image is not None:
            _check_line(self.container.image, "the image")
        if self.container.type is Containerizer.DOCKER and self.container.image is None:
            raise JobSpecError("the DOCKER containerizer needs an image")
        if self.time_limit_s is not None and not self.time_limit_s > 0:
            raise JobSpecError(f"the time limit is {self.time_limit_s} s; it must be more than 0")


def _check_line(text: str, what: str) -> None:
    check_text(text, what)
    if not text or any(ord(char) < 32 or ord(char) == 127 for char in text):
        raise JobSpecError(f"{what} {text!r} must be one line without control characters")


def _check_role(role: str) -> None:
    """Mesos 1.11: a path of components without white space, none of them special."""
    check_text(role, "the role")
    parts = role.split("/")
    bad = any(part in ("", ".", "..", "*") or part.startswith("-") for part in parts)
    if role != "*" and (bad or any(char in "\t\n\v\f\r \x7f" for char in role)):
        raise JobSpecError(f"{role!r} cannot be a role: names joined by '/', without blanks, not starting with '-'")
