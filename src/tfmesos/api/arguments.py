"""The arguments of `cluster()`, with the names and forms of TFMesos 0.0.10, as the launcher's options."""

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tfmesos.launcher import (
    Containerizer,
    ContainerOptions,
    ExtraConfig,
    Job,
    JobSpecError,
    RunOptions,
    Volume,
    jobs_from,
    parse_shm,
)

__all__ = ["ClusterArguments", "Jobs", "Volumes", "build_container", "working_directory"]

Jobs = Job | Mapping[str, object] | Iterable[Job | Mapping[str, object]]
Volumes = Mapping[str, str] | Iterable[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterArguments:
    """What the caller gave, as given."""

    jobs: Jobs
    role: str | None = None
    name: str | None = None
    quiet: bool = False
    volumes: Volumes | None = None
    containerizer_type: str | None = None
    force_pull_image: bool = False
    protocol: str = "grpc"
    env: Mapping[str, str] | None = None
    extra_config: Mapping[str, object] | None = None
    image: str | None = None
    shm: str | None = None
    time_limit_s: float | None = None
    fail_fast: bool = False
    checkpoint: bool = False

    def to_options(self) -> RunOptions:
        """Checked. Raises JobSpecError."""
        if self.protocol != "grpc":
            raise JobSpecError(f"the protocol {self.protocol!r} is not one of today's TensorFlow: grpc is allowed")
        return RunOptions(
            jobs=jobs_from(self.jobs),
            framework_name=_text(self.name, "the name") if self.name is not None else _default_name(),
            role=_text(self.role or "*", "the role"),
            container=build_container(
                None if self.containerizer_type is None else _text(self.containerizer_type, "containerizer_type"),
                None if self.image is None else _text(self.image, "the image"),
                _volumes(self.volumes),
                force_pull=self.force_pull_image,
                shm=_text(self.shm, "shm") if self.shm is not None else None,
            ),
            environment=tuple(_environment(self.env)),
            inherited=dict(os.environb),
            directory=working_directory(),
            extra_config=ExtraConfig.from_mapping(self.extra_config or {}),
            quiet=self.quiet,
            fail_fast=self.fail_fast,
            checkpoint=self.checkpoint,
            time_limit_s=self.time_limit_s,
            protocol=self.protocol,
        )


def build_container(
    containerizer_type: str | None,
    image: str | None,
    volumes: Iterable[Volume],
    *,
    force_pull: bool,
    shm: str | None,
) -> ContainerOptions:
    """What tasks run in; without `image`, DOCKER_IMAGE counts. `shm` is a size as `2g`. Raises JobSpecError."""
    kind = containerizer_type.upper() if containerizer_type else None
    if kind is not None and kind not in Containerizer.__members__:
        raise JobSpecError(f"the containerizer {containerizer_type!r} does not exist: MESOS and DOCKER are allowed")
    return ContainerOptions(
        type=Containerizer(kind) if kind is not None else None,
        image=image if image is not None else os.environ.get("DOCKER_IMAGE") or None,
        volumes=tuple(volumes),
        force_pull=force_pull,
        shm_mb=parse_shm(shm) if shm is not None else None,
    )


def working_directory() -> str:
    """Where tasks start. Raises JobSpecError."""
    try:
        directory = os.getcwd()
        directory.encode()
    except FileNotFoundError:
        raise JobSpecError("the current directory does not exist any more: tasks cannot start in it") from None
    except UnicodeEncodeError:
        raise JobSpecError(f"the current directory is not UTF-8, and Mesos carries UTF-8 only: {directory!r}") from None
    return directory


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise JobSpecError(f"{what} is a text, not {value!r}")
    return value


def _volumes(volumes: Volumes | None) -> list[Volume]:
    """A mapping from the machine's path to the container's, as in 0.0.10, or texts `SRC[:DST[:ro|rw]]`."""
    if isinstance(volumes, Mapping):
        return [Volume.parse(f"{source}:{target}") for source, target in volumes.items()]
    if isinstance(volumes, str):
        raise JobSpecError(f"volumes are a list of texts or a dict, not the text {volumes!r}")
    return [Volume.parse(_text(text, "a volume of a list")) for text in volumes or ()]


def _environment(env: Mapping[str, str] | None) -> Iterable[tuple[str, str]]:
    for name, value in (env or {}).items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise JobSpecError(f"env maps texts to texts, not {name!r} to {value!r}")
        yield name, value


def _default_name() -> str:
    program = os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] else "python"
    printable = "".join(char if ord(char) >= 32 and ord(char) != 127 else "?" for char in program)
    return f"[tfmesos] {printable.encode(errors='replace').decode()}"
