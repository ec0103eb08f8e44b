"""docker/runtime: a container starts as the author of its image wants it (Mesos 1.11: docker/runtime.cpp)."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tfmesos.agent.isolators.isolator import LaunchEdits, Shares, ViewIsolator
from tfmesos.agent.isolators.launch_command import launch_command
from tfmesos.agent.isolators.view import View

if TYPE_CHECKING:
    from tfmesos.agent.containerizer.config import ContainerConfig

_log = logging.getLogger(__name__)


class DockerRuntimeIsolator(ViewIsolator):
    """Environment, working directory and command of the image, as far as the container's own command leaves them.

    The user is the task's, whatever the image says.
    """

    name = "docker/runtime"

    def __init__(self, *, is_ignored: bool) -> None:
        """`is_ignored`: nothing of the image's configuration counts."""
        self._is_ignored = is_ignored

    async def prepare(self, config: ContainerConfig, shares: Shares) -> LaunchEdits:
        """What is executed, in which directory, with which variables beneath all others. Raises IsolationFailed."""
        if config.root is None:
            return LaunchEdits()
        if self._is_ignored:
            return LaunchEdits(view=View(command=launch_command(config.command, (), ())))
        image = config.root.image
        runtime = image.runtime
        command = launch_command(config.command, runtime.entrypoint, runtime.cmd)
        if runtime.user:
            _log.warning(
                "container %s: the user %r of the image %s is ignored: it runs as %s",
                config.id,
                runtime.user,
                image.image,
                config.user or "the agent's own user",
            )
        view = View(
            environment=_variables(runtime.environment),
            command=command,
            working_directory=runtime.working_directory or None,
        )
        return LaunchEdits(view=view)


def _variables(entries: Iterable[str]) -> dict[str, str]:
    """Of `NAME=value` each; what is not of this form is skipped."""
    pairs = (entry.partition("=") for entry in entries)
    return {name: value for name, equals, value in pairs if name and equals}
