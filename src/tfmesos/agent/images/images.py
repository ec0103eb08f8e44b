"""The images of one agent: pulled once for many, unpacked once, kept while somebody holds them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.images.errors import ImageError
from tfmesos.agent.images.image_root import ImageRoot
from tfmesos.supervision import Supervisors
from tfmesos.wire import mesos_pb2


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagesUsage:
    """How much the unpacked images of a store are."""

    images: int
    used: int
    """Bytes."""


class Images:
    """What an agent may give its containers as root file systems. `recover` comes first; `close` last."""

    @classmethod
    def open(cls, flags: AgentFlags, supervisors: Supervisors, environment: Mapping[str, str]) -> Images | None:
        """None without --image_providers. `environment` is the agent's own. Raises BadAgentFlags for what is missing.

        `supervisors` need not be started yet.
        """
        if not flags.image_providers:
            return None
        raise BadAgentFlags("--image_providers: images are not there yet")

    async def provide(self, image: mesos_pb2.Image, *, holder: str) -> ImageRoot:
        """An image, pulled and unpacked if it is not there; it stays until `holder` releases it.

        Who holds is any name; it outlives this agent (a container's id, say). Many who ask at once wait for the same
        pull, which is ended when nobody wants it any more. Raises ImageError; then, and if cancelled, nothing is held.
        """
        raise ImageError(f"Failed to provide image '{image.docker.name}'")

    async def release(self, holder: str) -> None:
        """Let go all that a holder holds. Idempotent, never raises."""

    async def recover(self, holders: Collection[str]) -> None:
        """Of the agent before: these still hold what they held, all others nothing."""

    async def prune(self, excluded: Collection[mesos_pb2.Image]) -> None:
        """Remove all images but these and those that are held, by whichever agent."""

    def usage(self) -> ImagesUsage:
        """Of all images of the store."""
        return ImagesUsage(images=0, used=0)

    def begin(self) -> None:
        """Begin to look at the disk, with --image_gc_config; `close` ends that."""

    async def close(self) -> None:
        """End what is being pulled. Idempotent."""
