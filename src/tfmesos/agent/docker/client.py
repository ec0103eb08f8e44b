"""The client of the Docker engine: `docker`, told where the engine's socket is."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress

from tfmesos.agent.docker.errors import DockerError, DockerHangs, DockerUnreachable, NoSuchObject
from tfmesos.agent.docker.inspection import Inspection, parse_inspections
from tfmesos.agent.images import ImageRuntime

_PASSED_ON = ("PATH", "HOME", "DOCKER_CONFIG", "DOCKER_API_VERSION", "LANG")
"""Of the agent's environment: how the client finds itself and its configuration."""
_NO_ENGINE = ("cannot connect to the docker daemon", "error during connect", "connection refused", "unexpected eof")
_ANSWER = "error response from daemon"
"""Whatever follows is the engine's trouble with others."""
_MISSING = ("no such container", "no such object", "no such image")
_PATIENCE_S = 30.0
_LONGEST_TEXT = 500
_log = logging.getLogger(__name__)


class DockerClient:
    """Commands of the client, each a process of its own. Cancelling one ends it; what the engine began may go on."""

    def __init__(self, program: str, socket: str, environment: Mapping[str, str] = os.environ) -> None:
        """`environment` is the agent's own. `socket`: a path, or a URL of one."""
        self.prefix = (program, "-H", f"unix://{socket.removeprefix('unix://')}")
        """What every command line begins with."""
        self._is_down = False
        self.environment = {name: environment[name] for name in _PASSED_ON if name in environment}

    async def info(self) -> Mapping[str, object]:
        """What the engine says of itself. Raises DockerError."""
        output = await self._output((*self.prefix, "info", "--format", "{{json .}}"), "info", _PATIENCE_S)
        try:
            found = json.loads(output)
        except ValueError as error:
            raise DockerError(f"docker info: the answer cannot be understood: {error!r}") from error
        if not isinstance(found, dict):
            raise DockerError(f"docker info: the answer cannot be understood: {found!r}")
        if faults := found.get("ServerErrors"):  # Docker 20.10 counts the client's part as success
            raise DockerUnreachable("; ".join(map(str, faults)) if isinstance(faults, list) else str(faults))
        return found

    async def inspect(self, *names: str) -> list[Inspection]:
        """Containers by their names. Raises NoSuchObject if one is not there."""
        return parse_inspections(await self._run("inspect", "--type", "container", *names))

    async def names(self, prefix: str) -> list[str]:
        """All containers, running or not, whose name begins so."""
        output = await self._run("ps", "--all", "--no-trunc", "--filter", f"name=^/?{prefix}", "--format", "{{.Names}}")
        return output.decode().split()

    async def image(self, name: str) -> ImageRuntime:
        """What an image says of itself. Raises NoSuchObject if it is not there."""
        output = await self._run("inspect", "--type", "image", "--format", '{"config":{{json .Config}}}', name)
        try:
            return ImageRuntime.from_config(output)
        except ValueError as error:
            raise DockerError(f"docker inspect: the answer cannot be understood: {error!r}") from error

    async def pull(self, image: str, configuration: str | None) -> None:
        """Bring an image, however long that takes; `configuration`: the folder of a config.json with credentials."""
        folder = ("--config", configuration) if configuration else ()
        await self._run("pull", "--quiet", image, options=folder, patience_s=None)

    async def stop(self, name: str, grace_s: int) -> None:
        """SIGTERM, and SIGKILL after the grace; returns when it has stopped. Nothing to do for one that has ended."""
        await self._run("stop", "-t", str(grace_s), name, patience_s=grace_s + _PATIENCE_S)

    async def remove(self, name: str) -> None:
        """The container with its anonymous volumes, whether it runs or not. Nothing to do where there is none."""
        try:
            await self._run(*self.remove_command(name))
        except NoSuchObject:
            return

    def remove_command(self, name: str) -> tuple[str, ...]:
        """What `remove` runs, without the prefix."""
        return "rm", "-f", "-v", name

    async def _run(self, *command: str, options: Sequence[str] = (), patience_s: float | None = _PATIENCE_S) -> bytes:
        """Its output. Raises DockerError with what the client says."""
        try:
            output = await self._output(
                (*self.prefix[:1], *options, *self.prefix[1:], *command), command[0], patience_s
            )
        except DockerUnreachable as error:
            self._note_down(error)
            raise
        self._note_up()
        return output

    async def _output(self, argv: Sequence[str], name: str, patience_s: float | None) -> bytes:
        process = await _start(argv, self.environment)
        try:
            async with asyncio.timeout(patience_s):
                output, complaint = await process.communicate()
        except TimeoutError:
            raise DockerHangs(f"the Docker engine at {self.prefix[-1]} does not answer ({name})") from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)  # process.kill() would reap it, and the loop complain
                await process.wait()
        if process.returncode:
            raise _error(complaint.decode(errors="replace"), name, process.returncode)
        return output

    def _note_down(self, error: DockerUnreachable) -> None:
        """It may last, and many ask: said once."""
        if not self._is_down:
            self._is_down = True
            _log.error("%s; trying again until it is known what became of its containers", error)

    def _note_up(self) -> None:
        if self._is_down:
            self._is_down = False
            _log.info("the Docker engine at %s answers again", self.prefix[-1])


async def _start(argv: Sequence[str], environment: Mapping[str, str]) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *argv,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise DockerError(f"cannot run {argv[0]}: {error.strerror}") from error


def _error(complaint: str, command: str, status: int) -> DockerError:
    """By what the client says: its exit status is 1 for everything."""
    text = " ".join(complaint.split())[-_LONGEST_TEXT:] or f"docker {command} exited with status {status}"
    lowered = text.lower()
    if any(sign in lowered for sign in _MISSING):
        return NoSuchObject(text)
    is_answer = _ANSWER in lowered
    is_down = not is_answer and any(sign in lowered for sign in _NO_ENGINE)
    return DockerUnreachable(text) if is_down else DockerError(text)
