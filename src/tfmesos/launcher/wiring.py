"""How a task learns of its gang: placeholders in its command, variables in its environment."""

import re
from collections.abc import Mapping

from tfmesos.launcher.addresses import ClusterAddresses, TaskAddress
from tfmesos.launcher.frameworks import FRAMEWORKS
from tfmesos.launcher.options import VISIBLE_CARDS

PLACEHOLDER = re.compile(r"\{(ps_hosts|worker_hosts|job_name|task_index)\}")
"""Exactly these four; every other brace is the user's."""


def expand(argument: str, me: TaskAddress, everyone: ClusterAddresses) -> str:
    """Replace the placeholders of one argument, once: what was inserted is not looked at again."""
    values = {
        "ps_hosts": ",".join(everyone.of("ps").values()),
        "worker_hosts": ",".join(everyone.of("worker").values()),
        "job_name": me.job,
        "task_index": str(me.index),
    }
    return PLACEHOLDER.sub(lambda match: values[match[1]], argument)


def wired_command(
    command: "str | tuple[str, ...]", me: TaskAddress, everyone: ClusterAddresses, *, placeholders: bool
) -> tuple[str, ...]:
    """The arguments to run: a text is a line for the shell, a tuple is run as it is."""
    parts = ("sh", "-c", command) if isinstance(command, str) else command
    return tuple(expand(part, me, everyone) for part in parts) if placeholders else parts


def wired_variables(me: TaskAddress, everyone: ClusterAddresses) -> Mapping[str, str]:
    """What every training framework wants in the environment."""
    variables: dict[str, str] = {}
    for framework in FRAMEWORKS:
        variables.update(framework.environment(me, everyone))
    return variables


def device_variables(gpus: float) -> Mapping[str, str]:
    """What hides cards from a task that asked for none: TensorFlow would take the memory of each that it sees.

    A task that asked is told of its cards by the agent.
    """
    return {} if gpus else {VISIBLE_CARDS: ""}
