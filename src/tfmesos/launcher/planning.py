"""What a run would submit, for `--dry-run`."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from tfmesos.launcher.addresses import ClusterAddresses, TaskAddress
from tfmesos.launcher.blueprint import Blueprint
from tfmesos.launcher.environment import build_environment
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

    def to_text(self) -> str:
        """Several lines for a terminal, each value quoted as a shell would need it."""
        command = shlex.join(self.argv) if self.argv else "(a TensorFlow server)"
        lines = [f"{self.job}:{self.index}", f"  resources: {self.resources}", f"  command: {command}"]
        lines += [f"  {name}={shlex.quote(value)}" for name, value in sorted(self.environment.items())]
        return "\n".join(lines)


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
        plans.append(
            TaskPlan(
                job=address.job,
                index=address.index,
                argv=program.command or (),
                environment=program.shown,
                resources=f"{wish.resources}; 1 port",
            )
        )
    return tuple(plans)
