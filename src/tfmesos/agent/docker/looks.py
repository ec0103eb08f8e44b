"""Programs that look into a container of the Docker engine: DEBUG containers, and so checks (`docker exec`)."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress

from tfmesos.agent.containerizer.config import ContainerConfig
from tfmesos.agent.docker.client import DockerClient
from tfmesos.agent.docker.options import container_name, open_variables, secrets_of
from tfmesos.supervision import marked_by

_MARK = "MESOS_DEBUG_CONTAINER"
"""A variable of ours: the engine goes on with what a client had it start, and tells nobody how to end it."""


def exec_command(client: DockerClient, config: ContainerConfig) -> tuple[str, ...]:
    """The client's command line; the program has the variables of the container and its own."""
    command = config.command
    program = ("/bin/sh", "-c", command.value) if command.shell else (command.value, *command.arguments[1:])
    has_terminal = config.container is not None and config.container.HasField("tty_info")
    variables = {**open_variables(command), _MARK: str(config.id)}
    entries = (*(f"{name}={value}" for name, value in variables.items()), *secrets_of(command))
    return (
        *client.prefix,
        "exec",
        "-i",
        *(["-t"] if has_terminal else []),
        *(part for entry in entries for part in ("-e", entry)),
        container_name(str(config.id.root)),
        *program,
    )


async def end_programs(container_id: str) -> None:
    """Its client has ended: what it has left in the container does, too."""
    for pid in await asyncio.to_thread(marked_by, f"{_MARK}={container_id}"):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
