"""From what a task asks for to what is to be pulled, from where, as whom. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.images.credentials import Login, parse_docker_config
from tfmesos.agent.images.errors import BadCredentials, ImageError
from tfmesos.agent.images.reference import Reference
from tfmesos.agent.images.sources import InRegistry, Registry, Source, parse_docker_registry, source_of
from tfmesos.flags import FlagError
from tfmesos.wire import mesos_pb2

_DOCKER = mesos_pb2.Image.DOCKER


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An image to pull; `login`: who to be for its registry."""

    reference: Reference
    source: Source
    login: Login | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """By which the store knows the image: the same name at another place is another image."""
        return str(self.source)


class Orders:
    """What the flags say of where images come from. `registry`: a text is the path of a directory of archives."""

    def __init__(self, registry: Registry | str, logins: Mapping[str, Login]) -> None:
        self._registry = registry
        self._logins = logins

    @classmethod
    def of_flags(cls, flags: AgentFlags) -> Orders:
        """Raises BadAgentFlags."""
        try:
            return cls(
                parse_docker_registry(flags.docker_registry),
                parse_docker_config(flags.docker_config) if flags.docker_config else {},
            )
        except FlagError as error:
            raise BadAgentFlags(f"--docker_registry: {error}") from error
        except BadCredentials as error:
            raise BadAgentFlags(f"--docker_config: {error}") from error

    def order(self, image: mesos_pb2.Image) -> Order:
        """Raises ImageError."""
        if image.type != _DOCKER:
            raise ImageError(f"Unsupported container image type: {mesos_pb2.Image.Type.Name(image.type)}")
        reference = Reference.parse(image.docker.name)
        source = source_of(reference, self._registry)
        login = self._login(source.registry.host, image.docker) if isinstance(source, InRegistry) else None
        return Order(reference=reference, source=source, login=login)

    def name(self, image: str) -> str:
        """`Order.name` of an image. Raises BadReference."""
        return str(source_of(Reference.parse(image), self._registry))

    def _login(self, host: str, docker: mesos_pb2.Image.Docker) -> Login | None:
        """A task's own goes before the agent's (Mesos 1.11)."""
        if not docker.HasField("config"):
            return self._logins.get(host)
        if not docker.config.HasField("value"):
            raise BadCredentials(f"the docker config of image '{docker.name}' has to be a secret of type VALUE")
        own = parse_docker_config(docker.config.value.data.decode(errors="replace"))
        return own.get(host) or self._logins.get(host)
