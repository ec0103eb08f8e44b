"""From a role's task to what is launched: the arguments and environment that Mesos is given."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tfmesos.launcher import carrier
from tfmesos.launcher.addresses import ClusterAddresses, TaskAddress
from tfmesos.launcher.limits import check_program
from tfmesos.launcher.options import RunOptions
from tfmesos.launcher.specification import Job, check_text
from tfmesos.launcher.user import current_user
from tfmesos.launcher.wiring import device_variables, wired_command, wired_variables


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What a task runs. `command` and `shown` are for people: without the carrier, with what it sets."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    command: tuple[str, ...] | None
    shown: Mapping[str, str]


class Blueprint:
    """Builds the programs of one job; the same for every attempt but for the addresses."""

    def __init__(self, options: RunOptions, variables: Mapping[str, str]) -> None:
        """`variables`: what every task gets, see environment.py. Raises JobSpecError for a bad directory."""
        if options.directory is not None:
            check_text(options.directory, "the working directory")
        self._options = options
        self._variables = variables
        self._source = Path(carrier.__file__).read_text("utf-8")
        self._jobs = {job.name: job for job in options.jobs}

    def program(self, me: TaskAddress, everyone: ClusterAddresses, agent: str | None) -> Program:
        """What one task runs on an agent; None: on this machine. Raises JobSpecError where Linux could not start it."""
        job, options = self._jobs[me.job], self._options
        is_contained = options.container.image is not None and agent is not None
        command = None
        if job.cmd is not None:
            command = wired_command(_command(job), me, everyone, placeholders=options.placeholders)
        defaults = {**wired_variables(me, everyone), **device_variables(job.gpus)}
        shown = {**defaults, **self._variables}
        task = f"{me.job}:{me.index}"
        check_program(task, command or (), shown)
        description = {
            "agent": agent or "this machine",
            "directory": options.container.directory(options.directory) if is_contained else options.directory,
            "paths": [volume.source for volume in options.container.volumes if volume not in options.container.mounted],
            "user": options.user or current_user() if is_contained else None,
            "port": me.port or None,
            "gpus": job.gpus,
            "defaults": defaults,
            "initializer": options.extra_config.initializer,
            "finalizer": options.extra_config.finalizer,
            "command": command,
            "python": None if is_contained else sys.executable,
            "server": _server(me, everyone, options.protocol) if command is None else None,
        }
        python = sys.executable if agent is None or (options.embedded and not is_contained) else "python3"
        # without site a command starts sooner; a server needs it to find TensorFlow
        argv = (python, *(("-S", "-E") if command is not None else ()), "-c", self._source)
        environment = {**self._variables, **carrier.pack(description)}
        check_program(task, argv, environment)
        return Program(argv=argv, environment=environment, command=command, shown=shown)


def _command(job: Job) -> str | tuple[str, ...]:
    assert job.cmd is not None
    return job.cmd if isinstance(job.cmd, str) else tuple(job.cmd)


def _server(me: TaskAddress, everyone: ClusterAddresses, protocol: str) -> dict[str, object]:
    cluster = {job: everyone.of(job) for job in everyone.jobs}
    return {"cluster": cluster, "job_name": me.job, "task_index": me.index, "protocol": protocol}
