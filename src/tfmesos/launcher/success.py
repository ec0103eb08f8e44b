"""When a job has succeeded. Pure.

The chief decides where there is one; else all tasks of all roles but ps and evaluator; where only those are, all tasks.
"""

from collections.abc import Sequence

from tfmesos.launcher.members import Member
from tfmesos.launcher.statuses import FINISHED

CHIEF = "chief"
SERVICES = frozenset({"ps"})
HELPERS = SERVICES | {"evaluator"}


def deciders(members: Sequence[Member]) -> list[Member]:
    """The tasks whose end with status 0 is the job's success."""
    chiefs = [member for member in members if member.key.job == CHIEF]
    workers = [member for member in members if member.key.job not in HELPERS]
    return chiefs or workers or list(members)


def has_succeeded(members: Sequence[Member]) -> bool:
    """Whether all that decide have finished."""
    return all(member.ended and member.state == FINISHED for member in deciders(members))


def stragglers(members: Sequence[Member]) -> list[Member]:
    """Live tasks that may still have something to finish: all but servers that never end by themselves."""
    return [member for member in members if member.is_live and member.key.job not in SERVICES]
