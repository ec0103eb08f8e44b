"""What is said while agents pull the image of a job. Pure."""

from collections.abc import Iterable

from tfmesos.launcher.members import WAITING, Member

NEXT_WORD_S = (3.0, 30.0)
"""When to tell of a pull first, and how often it is told again."""


def fetching_text(image: str, members: Iterable[Member], now: float) -> str:
    """Which agents are still at it, for how many tasks and how long; empty if none is.

    Mesos 1.11: a task is staging until its image is there; TASK_STARTING or TASK_RUNNING comes after it.
    """
    waiting = [member for member in members if member.is_live and not member.is_local and member.state == WAITING]
    if not waiting:
        return ""
    agents = ", ".join(sorted({member.hostname for member in waiting}))
    tasks = "1 task waits" if len(waiting) == 1 else f"{len(waiting)} tasks wait"
    seconds = now - min(member.launched_at for member in waiting)
    return f"pulling image '{image}' on {agents}: {tasks} for it, {seconds:.0f} s so far"
