"""What a failure of a kind that users meet often means, and what to do about it. Pure."""

import re
from collections.abc import Iterator

from tfmesos.launcher.tasks import TaskFailure

OUT_OF_MEMORY = "REASON_CONTAINER_LIMITATION_MEMORY"
BUS_ERROR = 135
"""128 + SIGBUS: how a program ends that touches shared memory for which /dev/shm has no room."""

_USED = re.compile(r"Requested: (\S+) Maximum Used: (\S+)")
"""Mesos 1.11: the message of a container beyond its memory."""

_NO_PYTHON = re.compile(
    r"""exec: "python3": executable file not found"""  # runc, and docker by it
    r"""|executable file `python3` not found"""  # crun
    r"""|Failed to exec(ute)? (command|'python3'|python3): No such file"""  # Mesos 1.11: mesos-containerizer launch
    r"""|\bpython3: No such file or directory""",
)

_NO_DOCKER = "None of the enabled containerizers (mesos) could create a container"
"""Mesos 1.11: a task for the Docker engine came to an agent that uses none."""


def hints(failure: TaskFailure, image: str | None) -> Iterator[str]:
    """Lines for the user, none where nothing more is known. `image`: what the job's tasks run in."""
    if failure.reason == OUT_OF_MEMORY:
        yield f"out of memory: {_used(failure.message)}{_more_memory(failure.job)}"
    if image is None:
        return
    if _NO_DOCKER in failure.message:
        yield "the agent runs nothing in Docker: start it with --containerizers=docker,mesos, or leave out -C DOCKER"
    if failure.exit_status == BUS_ERROR:
        yield "a bus error is often a full /dev/shm: make it larger, as with --shm 2g"
    if _NO_PYTHON.search("\n".join([failure.message, *failure.last_lines])):
        yield f"the image '{image}' has no python3, which TFMesos needs to start a task"


def _used(message: str) -> str:
    found = _USED.search(message)
    return f"used {found[2]} of {found[1]}, " if found else ""


def _more_memory(job: str) -> str:
    option = {"worker": " (tfrun: -Mw)", "ps": " (tfrun: -Ms)"}.get(job, "")
    return f"raise mem of '{job}'{option}"
