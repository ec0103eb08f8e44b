"""What can go wrong with images.

ImageError          the root; the text goes to the framework, and holds no password
  BadReference      the name of an image is not one
  BadCredentials    a docker config cannot be read
  PullFailed        a registry, or a directory of archives, does not give an image
    NoSpace         it would not fit on the disk
  UnpackFailed      an image was pulled, but cannot be unpacked
  RootFailed        a root file system cannot be made from an image
"""

from tfmesos.agent.errors import AgentError

_LONGEST_REASON = 1000


class ImageError(AgentError):
    """The root of this room's errors."""


class BadReference(ImageError):
    """The name of an image is not one."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"Failed to parse docker image '{text}': {reason}")


class BadCredentials(ImageError):
    """A docker config cannot be read; the text says nothing of what is in it."""


class PullFailed(ImageError):
    """A registry, or a directory of archives, does not give an image."""

    def __init__(self, image: str, source: str, reason: str) -> None:
        super().__init__(f"Failed to pull image '{image}' from {source}: {printable(reason)}")
        self.image = image


class NoSpace(PullFailed):
    """An image would not fit on the disk."""


class UnpackFailed(ImageError):
    """An image was pulled, but cannot be unpacked."""

    def __init__(self, image: str, reason: str) -> None:
        super().__init__(f"Failed to unpack image '{image}': {printable(reason)}")


class RootFailed(ImageError):
    """A root file system cannot be made from an image."""


def printable(text: str) -> str:
    """For a message: what strangers say may be long, and hold what no message can."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)[:_LONGEST_REASON]
