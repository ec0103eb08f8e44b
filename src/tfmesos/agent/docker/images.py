"""Images of the Docker engine: there before a container is run, so that a pull that fails says so."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tfmesos.agent.docker.client import DockerClient
from tfmesos.agent.docker.errors import DockerError, DockerUnreachable, NoSuchObject
from tfmesos.agent.images import ImageRuntime

_LARGEST_CONFIG = 1024 * 1024
_FETCHED = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_Auths = dict[str, dict[str, str]]


class DockerImages:
    """Pulls what is wanted; one at a time of an image, so that many containers of a new image pull it once."""

    def __init__(self, client: DockerClient, configuration: str | None) -> None:
        """`configuration`: --docker_config, JSON."""
        self._client = client
        self._auths = _auths(configuration) if configuration else {}
        self._pulls = defaultdict[str, asyncio.Lock](asyncio.Lock)

    async def provide(self, image: str, *, force: bool, sandbox: str) -> ImageRuntime:
        """What the image says of itself. Raises DockerError.

        `force`: pull it even if it is there (Mesos 1.11: force_pull_image). Credentials are the agent's, and those that
        were fetched into the sandbox as .docker/config.json.
        """
        name = with_tag(image)
        async with self._pulls[name]:
            if not force:
                with contextlib.suppress(NoSuchObject):
                    return await self._client.image(name)
            await self._pull(name, sandbox)
            return await self._client.image(name)

    async def _pull(self, name: str, sandbox: str) -> None:
        try:
            with self._configuration(sandbox) as folder:
                await self._client.pull(name, folder)
        except OSError as error:
            raise DockerError(f"Failed to pull Docker image '{name}': no place for credentials: {error}") from error
        except DockerUnreachable:
            raise
        except DockerError as error:
            raise DockerError(f"Failed to pull Docker image '{name}': {error}") from error

    @contextlib.contextmanager
    def _configuration(self, sandbox: str) -> Iterator[str | None]:
        """The folder of a configuration with all credentials, only readable by this agent; None: the client's usual."""
        auths = {**self._auths, **_fetched_auths(sandbox)}
        if not auths:
            yield None
            return
        with tempfile.TemporaryDirectory(prefix="tfmesos-docker-") as folder:
            with open(os.open(Path(folder, "config.json"), os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
                json.dump({"auths": auths}, file)
            yield folder


def with_tag(image: str) -> str:
    """`ubuntu` is `ubuntu:latest`; what has a tag or a digest stays."""
    return image if "@" in image or ":" in image.rpartition("/")[2] else f"{image}:latest"


def _fetched_auths(sandbox: str) -> _Auths:
    """What a task's URIs have brought; only credentials count of it, no program of its choice is run as the agent."""
    try:
        return _auths(_read_fetched(sandbox))
    except OSError:  # mostly there is nothing
        return {}


def _read_fetched(sandbox: str) -> str:
    """Without following a link: that would be to files of others, as the agent. Raises OSError."""
    with contextlib.ExitStack() as opened:
        folder = os.open(os.path.join(sandbox, ".docker"), _FETCHED | os.O_DIRECTORY)
        opened.callback(os.close, folder)
        file = os.open("config.json", _FETCHED | os.O_NONBLOCK, dir_fd=folder)
        opened.callback(os.close, file)
        return os.read(file, _LARGEST_CONFIG).decode(errors="replace")


def _auths(text: str) -> _Auths:
    """By registry; of each the texts only, as all credentials are."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    auths = value.get("auths") if isinstance(value, dict) else None
    entries = auths.items() if isinstance(auths, dict) else ()
    return {
        registry: {name: text for name, text in entry.items() if isinstance(text, str)}
        for registry, entry in entries
        if isinstance(entry, dict)
    }
