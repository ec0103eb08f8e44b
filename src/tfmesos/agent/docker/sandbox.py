"""Where the engine finds a sandbox whose path it could not be told (Mesos 1.11: docker/links).

<work_dir>/slaves/<agent id>/docker/links/<container id> -> the sandbox
"""

from __future__ import annotations

import contextlib
import glob
from pathlib import Path

from tfmesos.agent.docker.errors import DockerError

_SEPARATOR = ":"
"""Of the parts of a volume, in `docker run -v`."""


def link_sandbox(directory: str, container_id: str) -> str:
    """The sandbox's path without a colon: itself, or a link to it. Raises DockerError."""
    if _SEPARATOR not in directory:
        return directory
    agent_dir, found, _ = directory.partition("/frameworks/")
    if not found or _SEPARATOR in agent_dir:
        raise DockerError(f"the sandbox {directory} has a colon in its path, which the Docker engine cannot be told")
    link = Path(agent_dir, "docker", "links", container_id)
    try:
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(directory)
    except OSError as error:
        raise DockerError(f"cannot make the link {link} to the sandbox: {error.strerror}") from error
    return str(link)


def unlink_sandbox(work_dir: str, container_id: str) -> None:
    """Idempotent."""
    for link in Path(work_dir, "slaves").glob(f"*/docker/links/{glob.escape(container_id)}"):
        with contextlib.suppress(OSError):
            link.unlink()
