"""Which variables of the launcher's environment a task gets."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tfmesos.launcher.errors import JobSpecError
from tfmesos.launcher.limits import check_variable
from tfmesos.launcher.options import VISIBLE_CARDS, RunOptions
from tfmesos.launcher.specification import check_text

SHARED = re.compile(rb"PATH|VIRTUAL_ENV|PYTHONPATH|HOME|USER|LANG|LC_.*", re.DOTALL)
"""What a task on another machine gets when it has no image: enough to find the same programs and files."""

ANOTHER_TASK = re.compile(rb"(MESOS|TFMESOS|LIBPROCESS)_.*|TF_CONFIG", re.DOTALL)
"""What tells of the task that the launcher itself runs in; it would be wrong for every task of ours."""

CARRIED = re.compile(rb"TFMESOS_CARRIER_.*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEnvironment:
    """What every task of a job gets, and which inherited variables Mesos cannot carry (it carries UTF-8 only)."""

    variables: Mapping[str, str]
    left_out: tuple[str, ...] = ()


def build_environment(options: RunOptions) -> TaskEnvironment:
    """The launcher's whole environment on an embedded cluster, a named list elsewhere, nothing for images.

    What the user set comes on top. Raises JobSpecError for a variable of the user that cannot be one.
    """
    variables: dict[str, str] = {}
    left_out: list[str] = []
    for name, value in _inherited(options):
        try:
            variables[name.decode()] = value.decode()
        except UnicodeDecodeError:
            left_out.append(name.decode(errors="backslashreplace"))
    for given, text in options.environment:
        check_name(given)
        check_text(text, f"the value of the variable {given}")
        check_variable(given, text)
        variables[given] = text
    return TaskEnvironment(variables=variables, left_out=tuple(left_out))


def check_name(name: str) -> None:
    """Refuse what cannot name a variable. Raises JobSpecError."""
    check_text(name, "the variable's name")
    if not name or "=" in name:
        raise JobSpecError(f"{name!r} cannot be the name of a variable: NAME=value is allowed")


def own_variables(options: RunOptions) -> dict[bytes, bytes]:
    """The launcher's environment, for a task on its own machine: all but what tells of a task it may run in itself."""
    given = options.inherited
    nested = b"TFMESOS_DISTRIBUTED" in given or b"MESOS_SANDBOX" in given
    strange = ANOTHER_TASK if nested else CARRIED
    return {name: value for name, value in given.items() if not strange.fullmatch(name)}


def _inherited(options: RunOptions) -> Iterable[tuple[bytes, bytes]]:
    if options.container.image is not None:
        return []
    own = own_variables(options)
    if any(job.gpus for job in options.jobs):  # it says which the job may use; which task has which, the agent says
        own.pop(VISIBLE_CARDS.encode(), None)
    return own.items() if options.embedded else [pair for pair in own.items() if SHARED.fullmatch(pair[0])]
