"""What a run would submit, for `--dry-run`."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tfmesos.launcher.addresses import ClusterAddresses, TaskAddress
from tfmesos.launcher.blueprint import Blueprint
from tfmesos.launcher.containers import ContainerOptions
from tfmesos.launcher.environment import build_environment
from tfmesos.launcher.local_task import LOCAL_TASK
from tfmesos.launcher.options import RunOptions
from tfmesos.launcher.placement import build_wishes

FIRST_PORT = 31000
HOST = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPlan:
    """One task as it would be launched; hosts and ports are made up, as nothing has been offered yet.

    An empty `argv` stands for a TensorFlow server.
    """

    job: str
    index: int
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    resources: str
    container: ContainerOptions

    def to_text(self) -> str:
        """Several lines for a terminal, each value quoted as a shell would need it."""
        command = shlex.join(self.argv) if self.argv else "(a TensorFlow server)"
        lines = [f"{self.job}:{self.index}", f"  resources: {self.resources}", *_surroundings(self.container)]
        lines.append(f"  command: {command}")
        lines += [f"  {name}={shlex.quote(value)}" for name, value in sorted(self.environment.items())]
        return "\n".join(lines)


def _surroundings(container: ContainerOptions) -> Iterator[str]:
    if container.image is not None:
        yield f"  image: {container.image}{' (docker)' if container.is_docker else ''}"
    yield from (f"  volume: {volume}" for volume in container.volumes)
    if container.shm_mb is not None:
        yield f"  /dev/shm: {container.shm_mb} MB"


def plan(options: RunOptions) -> tuple[TaskPlan, ...]:
    """The tasks of a job in order of role and index, without a master. Raises JobSpecError as a run would."""
    blueprint = Blueprint(options, build_environment(options).variables)
    wishes = build_wishes(options.jobs)
    everyone = ClusterAddresses(
        tuple(
            TaskAddress(job=wish.key.job, index=wish.key.index, host=HOST, port=FIRST_PORT + number)
            for number, wish in enumerate(wishes)
        )
    )
    plans = []
    for wish, address in zip(wishes, everyone.tasks, strict=True):
        program = blueprint.program(address, everyone, HOST)
        is_local = options.local_worker and wish.key == LOCAL_TASK
        plans.append(
            TaskPlan(
                job=address.job,
                index=address.index,
                argv=program.command or (),
                environment=program.shown,
                resources=f"{wish.resources}; 1 port",
                container=ContainerOptions() if is_local else options.container,
            )
        )
    return tuple(plans)
