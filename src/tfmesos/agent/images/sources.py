"""Where images come from: a registry, or a directory of archives. Pure.

Mesos 1.11: a registry in an image's name goes before --docker_registry; of docker.io, what has no slash is in library/;
https, except port 80, and a port together with localhost or 127.0.0.1, which are http.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from tfmesos.agent.images.reference import LATEST, Reference
from tfmesos.flags import FlagError

_DOCKER_HUB = "docker.io"
_LOOPBACK = ("localhost", "127.0.0.1")
_PLAIN_PORT = 80
_TLS_PORT = 443


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """`host`: with its port, if it has one. `is_plain`: http will do."""

    host: str
    is_plain: bool

    @classmethod
    def named(cls, host: str) -> Registry:
        """As an image's name has it; one without dot and colon gets its port, since skopeo asks docker.io otherwise."""
        name, _, port = host.rpartition(":")
        if host.endswith("]") or not port.isdecimal():
            name, port = host, ""
        if "." not in host and ":" not in host and host != _LOOPBACK[0]:
            host = f"{host}:{_TLS_PORT}"
        if name == _DOCKER_HUB or name.endswith(f".{_DOCKER_HUB}"):
            return cls(host=_DOCKER_HUB, is_plain=False)
        return cls(host=host, is_plain=port == str(_PLAIN_PORT) or bool(port and name in _LOOPBACK))

    @classmethod
    def at(cls, url: str) -> Registry:
        """As --docker_registry has it: with http:// or https://, or without. Raises FlagError."""
        if "://" not in url:
            url = f"//{url}"
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError as error:
            raise FlagError(f"{url!r}: {error}") from None
        if not parts.hostname or parts.scheme not in ("", "http", "https") or parts.username is not None:
            raise FlagError(f"{url!r}: http://host:port, https://host:port or the path of a folder is wanted")
        if parts.path.strip("/") not in ("", "v2") or parts.query:
            raise FlagError(f"{url!r}: a registry has no path; what it holds is part of an image's name")
        is_plain = parts.scheme == "http"
        place = parts.netloc.rstrip(":")
        found = cls.named(f"{place}:{_PLAIN_PORT}" if is_plain and port is None else place)
        return cls(host=found.host, is_plain=is_plain) if parts.scheme and found.host != _DOCKER_HUB else found


@dataclass(frozen=True, slots=True, kw_only=True)
class InRegistry:
    """An image of a registry."""

    registry: Registry
    repository: str
    version: str
    """`:tag` or `@digest`."""

    def __str__(self) -> str:
        """What nobody else's image is called."""
        return f"docker://{self.repository_name}{self.version}"

    @property
    def place(self) -> str:
        """For a person."""
        return f"registry {self.registry.host}"

    @property
    def repository_name(self) -> str:
        """With its registry."""
        return f"{self.registry.host}/{self.repository}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InDirectory:
    """An image of a directory of archives."""

    directory: str
    reference: Reference

    def __str__(self) -> str:
        return f"{self.directory}:{self._names[0]}"

    @property
    def place(self) -> str:
        """For a person."""
        return f"directory {self.directory}"

    @property
    def paths(self) -> tuple[str, ...]:
        """Where its archive is looked for; without a tag it is the latest (beyond Mesos 1.11, with either name)."""
        return tuple(f"{self.directory}/{name}.tar" for name in self._names)

    @property
    def _names(self) -> tuple[str, ...]:
        reference, bare = str(self.reference), self.reference.repository_name
        if reference == bare:
            return (bare, f"{bare}:{LATEST}")
        return (reference, bare) if reference == f"{bare}:{LATEST}" else (reference,)


Source = InRegistry | InDirectory


def source_of(reference: Reference, default: Registry | str) -> Source:
    """`default`: what --docker_registry says; a text is the path of a directory."""
    if isinstance(default, str):
        return InDirectory(directory=default, reference=reference)
    registry = default if reference.registry is None else Registry.named(reference.registry)
    repository = reference.repository
    if registry.host == _DOCKER_HUB and "/" not in repository:
        repository = f"library/{repository}"
    return InRegistry(registry=registry, repository=repository, version=reference.version or f":{LATEST}")


def parse_docker_registry(text: str) -> Registry | str:
    """Raises FlagError."""
    if text.startswith("/"):
        return text.rstrip("/") or "/"
    return Registry.at(text)
